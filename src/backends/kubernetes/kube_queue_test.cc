// Pods as jobs: gangs whole, queues by namespace, what cannot be honoured is said and not told.
#include "backends/kubernetes/kube_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/kubernetes/kube_fleet.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Instant kKubeNow = Instant::from_seconds(1'790'000'000);

struct PodSpec {
  std::string name, ns = "acme", labels, spec, node, scheduler = "stint", annotations, phase = "Pending",
                    created = "2026-09-01T00:00:00Z";
  int gpus = 1;
  bool owned = true;
};

class KubeQueueTest : public testing::Test {
 protected:
  KubeQueueTest() { machines(2); }
  void machines(int count, std::string_view taints = "") {
    for (int i = 0; i < count; ++i)
      machine(fmt::format("n{}", i), taints);
  }
  void machine(const std::string& name, std::string_view taints = "") {
    cluster_.take(fmt::format(R"({{"kind":"Node","metadata":{{"name":"{}"}},"spec":{{"taints":[{}]}},"status":{{)"
                              R"("capacity":{{"nvidia.com/gpu":"8","cpu":"64"}},)"
                              R"("allocatable":{{"nvidia.com/gpu":"8","cpu":"64","memory":"512Gi","pods":"110"}}}}}})",
                              name, taints),
                  "Node");
  }
  void pod(const PodSpec& p) {
    cluster_.take(
        fmt::format(R"({{"kind":"Pod","metadata":{{"name":"{0}","namespace":"{1}","uid":"{0}-uid-0123","labels":{{{2}}},)"
                    R"("annotations":{{{3}}},"creationTimestamp":"{10}"{4}}},"spec":{{"schedulerName":"{5}"{6}{7},)"
                    R"("containers":[{{"name":"m","resources":{{"limits":{{"cpu":"1"{8}}}}}}}]}},"status":{{"phase":"{9}"}}}})",
                    p.name, p.ns, p.labels, p.annotations,
                    p.owned ? R"(,"ownerReferences":[{"kind":"Job","name":"j","uid":"j1","controller":true}])" : "", p.scheduler,
                    p.node.empty() ? "" : fmt::format(R"(,"nodeName":"{}")", p.node), p.spec,
                    p.gpus == 0 ? "" : fmt::format(R"(,"nvidia.com/gpu":"{}")", p.gpus), p.phase, p.created),
        "Pod");
  }
  void delete_pod(const std::string& name) { cluster_.pods.erase(name + "-uid-0123"); }
  std::vector<OthersJob> look(Duration later = {}) {
    std::vector<OthersJob> jobs;
    for (BackendEvent& event : queue_.look(cluster_, kKubeNow + later))
      jobs.push_back(std::get<OthersJob>(std::move(event)));
    return jobs;
  }
  /// "name: reason: message".
  std::vector<std::string> said() const {
    std::vector<std::string> out;
    for (const KubeComplaint& one : queue_.complaints())
      out.push_back(fmt::format("{}: {}: {}", one.uid.substr(0, one.uid.find('-')), one.reason, one.message));
    std::ranges::sort(out);
    return out;
  }
  static KubeQueueRules rules() {
    return {.mark = "m1",
            .namespaces = {{"lab", "acme/lab"}},
            .known_queues = {"acme", "acme/lab", "zoo", "rest"},
            .queue = "rest",
            .priority_classes = {{"urgent", 900}}};
  }

  KubeCluster cluster_;
  KubeQueue queue_{rules()};
};

TEST_F(KubeQueueTest, APodIsAJobOfItsNamespacesQueue) {
  pod({.name = "a", .spec = R"(,"priority":10,"activeDeadlineSeconds":3600)", .gpus = 4});
  pod({.name = "b", .ns = "lab", .spec = R"(,"priorityClassName":"urgent")"});
  pod({.name = "c", .ns = "elsewhere", .owned = false});
  pod({.name = "theirs", .scheduler = "default-scheduler"});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_EQ(jobs[0].name, "acme/a@a-uid-01");
  EXPECT_EQ(jobs[0].state, OthersJob::State::kWaits);
  EXPECT_EQ(jobs[0].queue, "acme");
  EXPECT_EQ(jobs[0].gpus, 4);
  EXPECT_EQ(jobs[0].cpu_milli, 1'000);
  EXPECT_EQ(jobs[0].priority, 60);
  EXPECT_TRUE(jobs[0].preemptible);
  EXPECT_EQ(jobs[0].time_limit, Duration::hours(1));
  EXPECT_THAT(jobs[0].only_on, IsEmpty()) << "any, machines that come later too";
  EXPECT_EQ(jobs[1].queue, "rest");
  EXPECT_FALSE(jobs[1].preemptible) << "nobody would make it anew";
  EXPECT_EQ(jobs[2].queue, "acme/lab");
  EXPECT_EQ(jobs[2].priority, 900);
  EXPECT_THAT(look(), IsEmpty()) << "told once";
}

TEST_F(KubeQueueTest, AnnotationsSayWhatThePodKnowsOfItsWork) {
  pod({.name = "a", .annotations = R"("stint/saves-every":"10m","stint/deadline":"2026-10-27T08:00:00Z")"});
  pod({.name = "b", .annotations = R"("stint/saves-every":"often")"});
  pod({.name = "c", .annotations = R"("stint/deadline":"soon")"});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].saves_every, Duration::minutes(10));
  EXPECT_EQ(format_utc(*jobs[0].deadline), "2026-10-27T08:00:00Z");
  EXPECT_THAT(said(), ElementsAre(HasSubstr("stint/saves-every=often"), HasSubstr("stint/deadline=soon")));
}

TEST_F(KubeQueueTest, ALabelChoosesAmongTheClientsQueuesAlone) {
  pod({.name = "a", .labels = R"("stint/queue":"acme.lab")"});
  pod({.name = "b", .labels = R"("stint/queue":"zoo")"});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].queue, "acme/lab");
  EXPECT_THAT(said(), ElementsAre(HasSubstr("no such queue of 'acme'")));
}

TEST_F(KubeQueueTest, AGangIsToldWhenAllOfItIsThere) {
  const auto member = [&](const std::string& name) {
    pod({.name = name, .labels = R"("stint/gang":"g","stint/gang-size":"3")", .gpus = 8});
  };
  member("g1");
  member("g2");
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(said(), ElementsAre(HasSubstr("2 of the 3 pods"), HasSubstr("GangIncomplete")));
  member("g3");
  member("g4");
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].tasks, 3);
  EXPECT_EQ(jobs[0].gpus, 8);
  EXPECT_THAT(said(), ElementsAre(HasSubstr("g4: GangWaits")));
  delete_pod("g2");
  const auto after = look();
  ASSERT_THAT(after, SizeIs(2));
  EXPECT_EQ(after[0].state, OthersJob::State::kEnded);
  EXPECT_EQ(after[0].name, jobs[0].name);
  EXPECT_EQ(after[1].tasks, 3) << "with the fourth";
  EXPECT_NE(after[1].name, jobs[0].name) << "what has ended under a name does not come back under it";
}

TEST_F(KubeQueueTest, WhatCameFirstIsToldFirst) {
  pod({.name = "late", .created = "2026-09-01T02:00:00Z"});
  for (const char* name : {"g1", "g2"})
    pod({.name = name, .labels = R"("stint/gang":"g","stint/gang-size":"2")", .created = "2026-09-01T01:00:00Z"});
  pod({.name = "early"});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_THAT(jobs[0].name, HasSubstr("early"));
  EXPECT_EQ(jobs[1].tasks, 2);
  EXPECT_THAT(jobs[2].name, HasSubstr("late"));
}

TEST_F(KubeQueueTest, GangsOfTheCoschedulingPluginAndByOwner) {
  cluster_.groups["acme/pg"] = 2;
  pod({.name = "a1", .labels = R"("scheduling.x-k8s.io/pod-group":"pg")"});
  pod({.name = "a2", .labels = R"("scheduling.x-k8s.io/pod-group":"pg")"});
  pod({.name = "b1",
       .labels = R"("pod-group.scheduling.sigs.k8s.io/name":"o","pod-group.scheduling.sigs.k8s.io/min-available":"2")"});
  pod({.name = "b2",
       .labels = R"("pod-group.scheduling.sigs.k8s.io/name":"o","pod-group.scheduling.sigs.k8s.io/min-available":"2")"});
  pod({.name = "c1", .labels = R"("stint/gang-size":"2")"});
  pod({.name = "c2", .labels = R"("stint/gang-size":"2")"});
  pod({.name = "d1", .labels = R"("scheduling.x-k8s.io/pod-group":"absent")"});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(3));
  for (const OthersJob& job : jobs)
    EXPECT_EQ(job.tasks, 2) << job.name;
  EXPECT_THAT(said(), ElementsAre(HasSubstr("d1: GangSize")));
}

TEST_F(KubeQueueTest, WhatIsLostOfARunningGangJoinsItAlone) {
  const std::string labels = R"("stint/gang":"g","stint/gang-size":"3")";
  pod({.name = "g1", .labels = labels, .node = "n0", .annotations = R"("stint/launch":"m1:7.0.0")", .phase = "Running"});
  pod({.name = "g2", .labels = labels, .node = "n0", .annotations = R"("stint/launch":"m1:7.0.1")", .phase = "Running"});
  pod({.name = "g4", .labels = labels});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].tasks, 1);
  EXPECT_EQ(queue_.rest_of_gang(cluster_.pods.at("g1-uid-0123"), cluster_), std::vector<std::string>{"g4-uid-0123"});
}

/// A launch was cut off between two bindings of its gang: the caller orders the rest of it.
TEST_F(KubeQueueTest, WhatAnotherLaunchStillHasToBindIsNoJobOfItsOwn) {
  const std::string labels = R"("stint/gang":"g","stint/gang-size":"2")";
  const auto bound = [&](std::string_view phase) {
    pod({.name = "g1",
         .labels = labels,
         .node = "n0",
         .annotations = R"("stint/launch":"m1:7.0.0","stint/tasks":"2")",
         .phase = std::string(phase)});
  };
  pod({.name = "g2", .labels = labels});
  for (const std::string_view phase : {"Pending", "Running", "Succeeded"}) {
    bound(phase);
    EXPECT_THAT(look(), IsEmpty()) << phase;
    EXPECT_EQ(queue_.rest_of_gang(cluster_.pods.at("g1-uid-0123"), cluster_), std::vector<std::string>{"g2-uid-0123"});
  }
  pod({.name = "g3", .labels = labels, .created = "2026-09-01T03:00:00Z"});
  const auto more = look();
  ASSERT_THAT(more, SizeIs(1)) << "it joins a gang that has all of its pods";
  EXPECT_THAT(more[0].name, HasSubstr("g3"));
  EXPECT_EQ(more[0].tasks, 1);
}

TEST_F(KubeQueueTest, WhereALaunchHasFailedItsGangIsToldAnew) {
  const std::string labels = R"("stint/gang":"g","stint/gang-size":"2")";
  pod({.name = "g1",
       .labels = labels,
       .node = "n0",
       .annotations = R"("stint/launch":"m1:7.0.0","stint/tasks":"2")",
       .phase = "Failed"});
  pod({.name = "g2", .labels = labels});
  EXPECT_THAT(look(), IsEmpty());
  pod({.name = "g3", .labels = labels});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].tasks, 2);
}

TEST_F(KubeQueueTest, AGangOfUnlikePodsIsLeftAlone) {
  pod({.name = "g1", .labels = R"("stint/gang":"g","stint/gang-size":"2")", .gpus = 8});
  pod({.name = "g2", .labels = R"("stint/gang":"g","stint/gang-size":"2")", .gpus = 0});
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(said(), ElementsAre(HasSubstr("8 and 0 GPUs"), HasSubstr("8 and 0 GPUs")));
}

TEST_F(KubeQueueTest, WhatIsNotUnderstoodIsSaidAndNotTold) {
  pod({.name = "a", .spec = R"(,"volumes":[{"name":"d","csi":{"driver":"d"}}])"});
  pod({.name = "b", .spec = R"(,"nodeSelector":{"zone":"b"})"});
  pod({.name = "c", .spec = R"(,"schedulingGates":[{"name":"later"}])"});
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(said(), ElementsAre(HasSubstr("cannot honour volumes.csi"), HasSubstr("zone=b")));
}

TEST_F(KubeQueueTest, APodWaitsAWhileBeforeItIsSaidWhy) {
  pod({.name = "a"});
  look();
  EXPECT_THAT(said(), IsEmpty());
  look(Duration::seconds(4));
  EXPECT_THAT(said(), ElementsAre(HasSubstr("waits in queue acme of Stint as job acme/a@a-uid-01")));
}

TEST_F(KubeQueueTest, WhatOthersHaveBoundHoldsItsRoom) {
  pod({.name = "system", .ns = "kube-system", .node = "n1", .scheduler = "default-scheduler", .phase = "Running", .gpus = 0});
  pod({.name = "mine", .node = "n0", .annotations = R"("stint/launch":"m1:7.0.0")", .phase = "Running"});
  pod({.name = "lost", .node = "n0", .annotations = R"("stint/launch":"other:7.0.0")", .phase = "Running"});
  pod({.name = "done", .node = "n0", .scheduler = "default-scheduler", .phase = "Succeeded"});
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(2)) << "another daemon's too";
  EXPECT_EQ(jobs[0].title, "lost");
  EXPECT_EQ(jobs[1].title, "system");
  EXPECT_EQ(jobs[1].state, OthersJob::State::kRuns);
  EXPECT_EQ(jobs[1].queue, "rest");
  EXPECT_EQ(jobs[1].cpu_milli, 1'000);
  EXPECT_THAT(jobs[1].machines, ElementsAre("n1"));
  delete_pod("system");
  const auto after = look();
  ASSERT_THAT(after, SizeIs(1));
  EXPECT_EQ(after[0].state, OthersJob::State::kEnded);
}

TEST_F(KubeQueueTest, NamesEveryJobThatTheClusterHas) {
  pod({.name = "waits"});
  pod({.name = "theirs", .node = "n0", .scheduler = "default-scheduler", .phase = "Running"});
  pod({.name = "mine", .node = "n0", .annotations = R"("stint/launch":"m1:7.0.0","stint/job":"acme/mine")", .phase = "Running"});
  pod({.name = "nowhere", .spec = R"(,"nodeSelector":{"zone":"b"})"});  // it may have been told when there was such a machine
  look();
  const std::vector<std::string> all = {"acme/mine", "acme/nowhere@nowhere-", "acme/theirs@theirs-u", "acme/waits@waits-ui"};
  EXPECT_EQ(queue_.there(cluster_), all);
  queue_.placed("acme/waits@waits-ui");
  delete_pod("theirs");
  look();
  EXPECT_THAT(queue_.there(cluster_), ElementsAre("acme/mine", "acme/nowhere@nowhere-", "acme/waits@waits-ui"));
}

TEST_F(KubeQueueTest, AMachineThatComesLaterIsToldByARevision) {
  machine("t0", R"({"key":"gpu","effect":"NoSchedule"})");
  pod({.name = "a"});
  auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs[0].only_on, ElementsAre("n0", "n1"));
  EXPECT_THAT(queue_.revisions(), IsEmpty());
  machine("n2");
  look();
  EXPECT_THAT(queue_.revisions(), ElementsAre(std::pair<const std::string, int64_t>("a-uid-0123", 1)));
  pod({.name = "a", .annotations = R"("stint/revision":"1")"});
  jobs = look();
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].state, OthersJob::State::kEnded);
  EXPECT_EQ(jobs[1].name, "acme/a@a-uid-01+1") << "a name is never used again";
  EXPECT_THAT(jobs[1].only_on, ElementsAre("n0", "n1", "n2"));
  EXPECT_THAT(look(), IsEmpty());
}

TEST(KubePriority, KeepsTheOrderOfValues) {
  EXPECT_EQ(priority_of_value(0), 50);
  EXPECT_EQ(priority_of_value(-1'000), 0);
  EXPECT_EQ(priority_of_value(500), 550);
  int32_t before = 0;
  for (const int64_t value : {-50, 0, 1, 500, 501, 1'000, 10'000, 1'000'000, 2'000'001'000}) {
    EXPECT_GE(priority_of_value(value), before) << value;
    before = priority_of_value(value);
  }
  EXPECT_LE(before, 1'000);
}

TEST(KubeFleet, HeedsNoticesAndSaysWhyAMachineTakesNoWork) {
  KubeCluster cluster;
  KubeFleet fleet({});
  const auto look = [&](std::string_view annotations, std::string_view spec, int offered) {
    cluster.take(fmt::format(R"({{"kind":"Node","metadata":{{"name":"n0","annotations":{{{}}}}},"spec":{{{}}},)"
                             R"("status":{{"capacity":{{"nvidia.com/gpu":"8"}},"allocatable":{{"nvidia.com/gpu":"{}"}}}}}})",
                             annotations, spec, offered),
                 "Node");
    const auto news = fleet.look(cluster);
    return news.empty() ? MachineReport{.news = MachineNews::kGone, .detail = "nothing"} : news.back();
  };
  EXPECT_EQ(look("", "", 8).news, MachineNews::kThere);
  const MachineReport notice = look(R"("stint/gone-at":"2026-11-28T02:00:00Z")", "", 8);
  EXPECT_EQ(notice.news, MachineNews::kDraining);
  EXPECT_EQ(notice.cause, MachineCause::kMaintenance);
  EXPECT_EQ(notice.until, parse_instant("2026-11-28T02:00:00Z").value());
  const MachineReport later = look(R"("stint/gone-at":"2026-11-28T03:00:00Z")", "", 8);
  EXPECT_EQ(later.until, parse_instant("2026-11-28T03:00:00Z").value());
  constexpr std::string_view kSpot = R"("taints":[{"key":"aws-node-termination-handler/spot-itn","effect":"NoSchedule"}])";
  EXPECT_EQ(look(R"("stint/gone-at":"2026-11-28T03:00:00Z")", kSpot, 8).cause, MachineCause::kSpot);
  const MachineReport taken = look("", kSpot, 8);
  EXPECT_EQ(taken.cause, MachineCause::kSpot);
  EXPECT_FALSE(taken.until);
  const MachineReport unreadable = look(R"("stint/gone-at":"tonight")", "", 8);
  EXPECT_EQ(unreadable.news, MachineNews::kDraining) << "on the safe side";
  EXPECT_THAT(unreadable.detail, HasSubstr("stint/gone-at"));
  EXPECT_EQ(look("", "", 8).news, MachineNews::kThere);
  constexpr std::string_view kOurs = R"x("stint/cordoned":"drained by ada (stint daemon 00c0ffee00c0ffee)")x";
  constexpr std::string_view kCordoned = R"("unschedulable":true)";
  EXPECT_EQ(look(kOurs, kCordoned, 8).detail, "drained by ada") << "another daemon's";
  const MachineReport broken = look(kOurs, kCordoned, 7);
  EXPECT_EQ(broken.cause, MachineCause::kBroken) << "told before the cordon";
  EXPECT_EQ(broken.detail, "offers 7 of its 8 GPUs");
  EXPECT_EQ(look(kOurs, kCordoned, 8).detail, "drained by ada");
  ASSERT_THAT(fleet.look(cluster, "00c0ffee00c0ffee"), SizeIs(1));
  EXPECT_EQ(fleet.machines().front().news, MachineNews::kThere) << "its own cordon is no news";
}

TEST(KubeFleet, TellsMachinesAsTheyComeDrainAndGo) {
  KubeCluster cluster;
  const auto node = [&](std::string_view name, std::string_view spec, int gpus, int offered) {
    cluster.take(
        fmt::format(R"({{"kind":"Node","metadata":{{"name":"{}","labels":{{"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3"}}}},)"
                    R"("spec":{{{}}},"status":{{"capacity":{{"nvidia.com/gpu":"{}","cpu":"64"}},)"
                    R"("allocatable":{{"nvidia.com/gpu":"{}","cpu":"63500m","memory":"512Gi","pods":"110"}}}}}})",
                    name, spec, gpus, offered),
        "Node");
  };
  Machine price;
  price.node.name = "n0";
  price.zone = "here";
  KubeFleet fleet({{"n0", price}});
  node("n0", "", 8, 8);
  cluster.take(R"({"kind":"Node","metadata":{"name":"cpu"},"status":{"capacity":{"cpu":"64"}}})", "Node");
  auto news = fleet.look(cluster);
  ASSERT_THAT(news, SizeIs(1)) << "machines without GPUs are not placed on";
  EXPECT_EQ(news[0].machine.node.gpu_model, "H100-80GB");
  EXPECT_EQ(news[0].machine.node.gpus, 8);
  EXPECT_EQ(news[0].machine.node.cpu_milli, 63'500);
  EXPECT_EQ(news[0].machine.node.max_tasks, 110);
  EXPECT_EQ(news[0].machine.zone, "here");
  EXPECT_THAT(fleet.look(cluster), IsEmpty());
  node("n0", R"("unschedulable":true)", 8, 8);
  news = fleet.look(cluster);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].news, MachineNews::kDraining);
  EXPECT_EQ(news[0].cause, MachineCause::kMaintenance);
  node("n0", "", 8, 0);  // its device plugin begins anew
  news = fleet.look(cluster);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].news, MachineNews::kDraining);
  EXPECT_EQ(news[0].machine.node.gpus, 8);
  cluster.nodes.erase("n0");
  news = fleet.look(cluster);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].news, MachineNews::kGone);
}

}  // namespace
}  // namespace stint
