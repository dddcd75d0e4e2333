// Where pods may be because of others: the rules of kube-scheduler on small clusters, and how they reach the queue.
#include "backends/kubernetes/kube_around.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/kubernetes/kube_fleet.h"
#include "backends/kubernetes/kube_queue.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Instant kAroundNow = Instant::from_seconds(1'790'000'000);
const std::string kApartByHost =
    R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname",)"
    R"("labelSelector":{"matchLabels":{"app":"a"}}}]}})";

class KubeAroundTest : public testing::Test {
 protected:
  KubeAroundTest() {
    // Zone a: n0, n1; zone b: n2.
    for (int i = 0; i < 3; ++i)
      node(fmt::format("n{}", i), i < 2 ? "a" : "b");
  }
  void node(const std::string& name, const std::string& zone, std::string_view more = R"("nvidia.com/gpu":"8")") {
    cluster_.take(
        fmt::format(R"({{"metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}","zone":"{1}"}}}},"status":{{)"
                    R"("capacity":{{"cpu":"64",{2}}},"allocatable":{{"cpu":"64","memory":"512Gi","pods":"110",)"
                    R"("ephemeral-storage":"100Gi",{2}}}}}}})",
                    name, zone, more),
        "Node");
  }
  const KubePlacingPod& pod(const std::string& name, const std::string& spec = "", const std::string& on = "",
                            const std::string& labels = R"("app":"a")",
                            const std::string& resources = R"("nvidia.com/gpu":"1")") {
    cluster_.take(
        fmt::format(R"({{"metadata":{{"name":"{0}","namespace":"acme","uid":"{0}-uid","labels":{{{1}}},{2}}},"spec":{{)"
                    R"("schedulerName":"stint"{3}{4}{5},"containers":[{{"name":"m","resources":{{"limits":{{{6}}}}}}}]}}}})",
                    name, labels, R"("creationTimestamp":"2026-09-01T00:00:00Z")", spec.empty() ? "" : "," + spec,
                    on.empty() ? "" : R"(,"nodeName":")" + on + "\"", "", resources),
        "Pod");
    return cluster_.pods.at(name + "-uid");
  }
  /// "n0 n2": where it may be.
  std::string places(const KubePlacingPod& pod) {
    const KubeAround around(cluster_);
    const KubeAsk ask(pod, around);
    why_ = ask.why_nowhere();
    std::string text;
    for (const auto& [name, node] : cluster_.nodes)
      if (ask.why_nowhere().empty() && ask.why_not_on(node).empty()) text += (text.empty() ? "" : " ") + name;
    return text;
  }
  void volumes(std::string_view kind, std::string_view json) {
    cluster_.knows_volumes = true;
    cluster_.take(json, std::string(kind));
  }
  std::vector<OthersJob> look() {
    std::vector<OthersJob> jobs;
    for (BackendEvent& event : queue_.look(cluster_, kAroundNow))
      jobs.push_back(std::get<OthersJob>(std::move(event)));
    return jobs;
  }

  KubeCluster cluster_;
  KubeQueue queue_{{.mark = "m1", .namespaces = {}, .known_queues = {"acme", "rest"}, .queue = "rest", .priority_classes = {}}};
  std::string why_;
};

std::string near_by_zone(std::string_view app) {
  return fmt::format(R"("affinity":{{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"zone",)"
                     R"("labelSelector":{{"matchLabels":{{"app":"{}"}}}}}}]}}}})",
                     app);
}
std::string spread_by_zone(std::string_view more = "") {
  return fmt::format(R"("topologySpreadConstraints":[{{"whenUnsatisfiable":"DoNotSchedule","maxSkew":1,"topologyKey":"zone",)"
                     R"("labelSelector":{{"matchLabels":{{"app":"a"}}}}{}}}])",
                     more);
}

TEST_F(KubeAroundTest, AntiAffinityHoldsBothWays) {
  pod("there", kApartByHost, "n0");
  EXPECT_EQ(places(pod("like", kApartByHost)), "n1 n2");
  EXPECT_EQ(places(pod("plain")), "n1 n2") << "who is there keeps it away";
  EXPECT_EQ(places(pod("other", "", "", R"("app":"b")")), "n0 n1 n2");
}

TEST_F(KubeAroundTest, AffinityIsNearThoseThatAreThereOrItIsTheFirst) {
  EXPECT_EQ(places(pod("lonely", near_by_zone("db"))), "") << "nobody is there, and it is none itself";
  EXPECT_EQ(places(pod("first", near_by_zone("a"))), "n0 n1 n2");
  pod("db", "", "n2", R"("app":"db")");
  EXPECT_EQ(places(pod("lonely", near_by_zone("db"))), "n2");
  cluster_.pods.at("db-uid").pod.phase = "Succeeded";
  EXPECT_EQ(places(pod("lonely", near_by_zone("db"))), "") << "who has ended is not there";
}

TEST_F(KubeAroundTest, SpreadCountsDomainsWhereItMayBe) {
  pod("one", "", "n0");
  EXPECT_EQ(places(pod("next", spread_by_zone())), "n2");
  pod("two", "", "n2");
  EXPECT_EQ(places(pod("next", spread_by_zone())), "n0 n1 n2");
  pod("three", "", "n1");
  EXPECT_EQ(places(pod("next", spread_by_zone() + R"(,"nodeSelector":{"zone":"a"})")), "n0 n1 n2")
      << "one zone alone is eligible; the selector itself is looked at elsewhere";
  EXPECT_EQ(places(pod("next", spread_by_zone(R"(,"minDomains":3)"))), "") << "fewer domains than that: the fewest count as none";
  cluster_.pods.at("three-uid").deleting = true;
  EXPECT_EQ(places(pod("next", spread_by_zone())), "n0 n1 n2") << "who goes does not count";
}

TEST_F(KubeAroundTest, PortsAndResourcesOfAMachineAreUsedOnce) {
  const auto port = [](int number) {
    return fmt::format(R"("initContainers":[{{"name":"i","ports":[{{"hostPort":{},"protocol":"TCP"}}]}}])", number);
  };
  pod("there", port(80), "n0");
  EXPECT_EQ(places(pod("same", port(80))), "n1 n2");
  EXPECT_EQ(places(pod("other", port(81))), "n0 n1 n2");
  const std::string disk = R"("nvidia.com/gpu":"1","ephemeral-storage":"60Gi")";
  pod("full", "", "n1", R"("app":"a")", disk);
  EXPECT_EQ(places(pod("disk", "", "", R"("app":"a")", disk)), "n0 n2");
  EXPECT_EQ(places(pod("nic", "", "", R"("app":"a")", R"("rdma/hca":"1")")), "") << "no machine offers it";
}

TEST_F(KubeAroundTest, VolumesSayWhereTheirPodsMayBe) {
  const std::string uses = R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"d"}}])";
  EXPECT_EQ(places(pod("p", uses)), "");
  EXPECT_THAT(why_, HasSubstr("may not read"));
  volumes("StorageClass", R"({"metadata":{"name":"at-once"},"provisioner":"p"})");
  EXPECT_EQ(places(pod("p", uses)), "");
  EXPECT_THAT(why_, HasSubstr("Claim d is not there")) << why_;
  volumes("PersistentVolumeClaim", R"({"metadata":{"name":"d","namespace":"acme"},"spec":{"storageClassName":"at-once"}})");
  EXPECT_EQ(places(pod("p", uses)), "");
  EXPECT_THAT(why_, HasSubstr("no volume yet"));
  volumes("PersistentVolumeClaim",
          R"({"metadata":{"name":"d","namespace":"acme"},"spec":{"volumeName":"v"},"status":{"phase":"Bound"}})");
  volumes("PersistentVolume", R"({"metadata":{"name":"v"},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[)"
                              R"({"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}]}}}})");
  EXPECT_EQ(places(pod("p", uses)), "n2");
  volumes("StorageClass", R"({"metadata":{"name":"later"},"provisioner":"p","volumeBindingMode":"WaitForFirstConsumer"})");
  volumes("PersistentVolumeClaim", R"({"metadata":{"name":"d","namespace":"acme"},"spec":{"storageClassName":"later"}})");
  EXPECT_EQ(places(pod("p", uses)), "n0 n1 n2");
  const KubeAround around(cluster_);
  EXPECT_THAT(KubeAsk(pod("p", uses), around).volumes_to_make(), ElementsAre("acme/d"));
}

TEST_F(KubeAroundTest, WhoIsOnTheWayCounts) {
  KubeAround around(cluster_);
  const KubePlacingPod& first = pod("first", kApartByHost);
  const KubePlacingPod& second = pod("second", kApartByHost);
  around.add(first, "n1");
  EXPECT_TRUE(around.concerns(second));
  EXPECT_NE(KubeAsk(second, around).why_not_on(cluster_.nodes.at("n1")), "");
  EXPECT_EQ(KubeAsk(second, around).why_not_on(cluster_.nodes.at("n0")), "");
}

TEST_F(KubeAroundTest, ThoseThatLookAtEachOtherAreToldOneByOne) {
  pod("one", kApartByHost);
  pod("two", kApartByHost);
  auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1)) << "where the second may be depends on the first";
  queue_.placed(jobs[0].name);
  const std::string first = jobs[0].title;
  cluster_.bound(first + "-uid", "n1", {{"stint/launch", "m1:1.0.0"}});
  jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_NE(jobs[0].title, first);
  EXPECT_THAT(jobs[0].only_on, ElementsAre("n0", "n2"));
}

TEST_F(KubeAroundTest, ItIsToldAnewWhenAPlaceIsTaken) {
  pod("one", kApartByHost);
  ASSERT_THAT(look(), SizeIs(1));
  EXPECT_THAT(queue_.revisions(), IsEmpty());
  pod("theirs", "", "n0");
  look();
  EXPECT_THAT(queue_.revisions(), ElementsAre(std::pair<const std::string, int64_t>("one-uid", 1)));
  queue_.asked("acme/one@one-uid", kAroundNow);
  look();
  EXPECT_THAT(queue_.revisions(), IsEmpty()) << "its place is being made ready";
  queue_.asked("acme/one@one-uid", Instant());
  look();
  EXPECT_THAT(queue_.revisions(), SizeIs(1));
  EXPECT_FALSE(queue_.was_told_anew("acme/one@one-uid"));
  cluster_.pods.at("one-uid").annotations = {{"stint/revision", "1"}};
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_THAT(jobs[1].only_on, ElementsAre("n1", "n2"));
  EXPECT_TRUE(queue_.was_told_anew("acme/one@one-uid"));
}

TEST_F(KubeAroundTest, AGangIsLeftAloneWhereItsOwnPodsAreMeant) {
  const std::string gang = R"("app":"a","stint/gang":"g","stint/gang-size":"2")",
                    other = R"("app":"b","stint/gang":"h","stint/gang-size":"2")";
  pod("g1", kApartByHost, "", gang);
  pod("g2", kApartByHost, "", gang);
  pod("h1", kApartByHost, "", other);
  pod("h2", kApartByHost, "", other);
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].title, "h1") << "apart from others";
  EXPECT_THAT(queue_.complaints().front().message,
              HasSubstr("anti-affinity by kubernetes.io/hostname among the pods of one gang"));
}

TEST_F(KubeAroundTest, MigDevicesAreThoseOfTheBooks) {
  node("m0", "a", R"("nvidia.com/mig-1g.10gb":"7","nvidia.com/mig-2g.20gb":"3")");
  pod("slices", "", "", R"("app":"a")", R"("nvidia.com/mig-1g.10gb":"2")");
  pod("both", "", "", R"("app":"a")", R"("nvidia.com/mig-1g.10gb":"2","nvidia.com/gpu":"1")");
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].gpus, 0);
  EXPECT_EQ(jobs[0].mig_profile, "2x1g.10gb");
  EXPECT_THAT(queue_.complaints().front().message, HasSubstr("not both"));
  KubeFleet fleet({});
  const auto news = fleet.look(cluster_);
  ASSERT_THAT(news, SizeIs(4));
  EXPECT_FALSE(news[0].machine.node.whole_gpus);
  EXPECT_THAT(news[0].machine.node.static_mig,
              ElementsAre(MigAsk{.profile = "1g.10gb", .count = 7}, MigAsk{.profile = "2g.20gb", .count = 3}));
}

}  // namespace
}  // namespace stint
