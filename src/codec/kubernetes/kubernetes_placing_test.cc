// What a scheduler reads of nodes and pods: where a pod may be, what it takes, and what of it is not understood.
#include "codec/kubernetes/kubernetes_placing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

KubePlacingPod pod_with(std::string_view spec, std::string_view more = "") {
  const std::string json = fmt::format(
      R"({{"kind":"Pod","metadata":{{"name":"x","namespace":"a","uid":"u"{}}},"spec":{{"schedulerName":"stint","containers":[)"
      R"({{"name":"m","resources":{{"requests":{{"cpu":"2","memory":"4Gi"}},"limits":{{"nvidia.com/gpu":"2"}}}}}}]{}}}}})",
      more, spec);
  KubePlacingDecoder decoder;
  auto object = decoder.decode(json, "Pod");
  EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().message);
  return object.ok() ? std::get<KubePlacingPod>(std::move(*object)) : KubePlacingPod();
}

KubePlacingNode node_with(std::string_view labels, std::string_view spec = "", std::string_view ready = "True") {
  const std::string json = fmt::format(
      R"({{"kind":"Node","metadata":{{"name":"n1","labels":{{{}}}}},"spec":{{{}}},"status":{{"allocatable":{{"nvidia.com/gpu":"8"}},)"
      R"("conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
      labels, spec, ready);
  KubePlacingDecoder decoder;
  auto object = decoder.decode(json, "Node");
  EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().message);
  return object.ok() ? std::get<KubePlacingNode>(std::move(*object)) : KubePlacingNode();
}

TEST(KubernetesPlacing, ReadsWhatAPodTakes) {
  const KubePlacingPod pod = pod_with(R"(,"overhead":{"cpu":"250m"},"priority":1000,"terminationGracePeriodSeconds":90)");
  EXPECT_EQ(pod.scheduler, "stint");
  EXPECT_EQ(pod.requests.at("cpu"), 2'250);
  EXPECT_EQ(pod.requests.at("memory"), (int64_t{4} << 30) * 1000);
  EXPECT_EQ(pod.requests.at("nvidia.com/gpu"), 2'000);
  EXPECT_EQ(pod.priority, 1'000);
  EXPECT_EQ(pod.grace, Duration::seconds(90));
  EXPECT_THAT(pod.not_understood, IsEmpty());
  EXPECT_EQ(pod_with(R"(,"resources":{"requests":{"cpu":"8"}})").requests.at("cpu"), 8'000) << "of the pod as a whole";
}

TEST(KubernetesPlacing, NamesWhatIsNotUnderstood) {
  const auto of = [](std::string_view spec) { return pod_with(spec).not_understood; };
  EXPECT_THAT(
      of(R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}})"),
      IsEmpty());
  EXPECT_THAT(of(R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",)"
                 R"("namespaceSelector":{"matchLabels":{"team":"a"}}}]}})"),
              ElementsAre("affinity.podAffinity.namespaceSelector"));
  EXPECT_THAT(of(R"(,"volumes":[{"name":"s","emptyDir":{}},{"name":"d","csi":{"driver":"d"}}])"), ElementsAre("volumes.csi"));
  EXPECT_THAT(of(R"(,"workloadRef":{"name":"w"})"), ElementsAre("workloadRef"));
  EXPECT_TRUE(pod_with(R"(,"schedulingGates":[{"name":"g"}])").gated);
}

TEST(KubernetesPlacing, ReadsWhatAPodAsksOfOthers) {
  const KubeNeighbours around =
      pod_with(R"(,"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],)"
               R"("requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","namespaceSelector":{},)"
               R"("labelSelector":{"matchLabels":{"app":"db"}}}]},"podAntiAffinity":{)"
               R"("requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"rack","labelSelector":{"matchExpressions":)"
               R"([{"key":"app","operator":"NotIn","values":["db"]}]}}]}},)"
               R"("topologySpreadConstraints":[{"whenUnsatisfiable":"ScheduleAnyway","topologyKey":"zone","maxSkew":1},)"
               R"({"whenUnsatisfiable":"DoNotSchedule","topologyKey":"zone","maxSkew":2,"minDomains":3,"labelSelector":{}}],)"
               R"("initContainers":[{"name":"i","ports":[{"hostPort":80,"protocol":"TCP"},{"containerPort":81}]}],)"
               R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}},{"name":"e","ephemeral":{}}])")
          .around;
  ASSERT_EQ(around.near.size(), 1U);
  EXPECT_TRUE(around.near[0].is_about({.kind = "Pod", .ns = "any", .labels = {{"app", "db"}}}));
  ASSERT_EQ(around.apart.size(), 1U);
  EXPECT_TRUE(around.apart[0].is_about({.kind = "Pod", .ns = "a"})) << "a label that is absent is in no list";
  EXPECT_FALSE(around.apart[0].is_about({.kind = "Pod", .ns = "b"})) << "the pod's own namespace where none is given";
  EXPECT_FALSE(around.apart[0].is_about({.kind = "Pod", .ns = "a", .labels = {{"app", "db"}}}));
  ASSERT_EQ(around.spreads.size(), 1U) << "ScheduleAnyway is no must";
  EXPECT_EQ(around.spreads[0].most_apart, 2);
  EXPECT_EQ(around.spreads[0].least_domains, 3);
  EXPECT_TRUE(around.spreads[0].selector.holds({})) << "an empty selector holds for all, an absent one for none";
  EXPECT_FALSE(KubeSelector().holds({}));
  ASSERT_EQ(around.ports.size(), 1U);
  EXPECT_TRUE(around.ports[0].is_in_the_way_of({"10.0.0.1", "TCP", 80}));
  EXPECT_FALSE(around.ports[0].is_in_the_way_of({"10.0.0.1", "UDP", 80}));
  EXPECT_THAT(around.claims, ElementsAre("data", "x-e"));
}

TEST(KubernetesPlacing, ReadsVolumesAndWhereTheyMayBe) {
  KubePlacingDecoder decoder;
  const auto claim = decoder.decode(
      R"({"metadata":{"name":"data","namespace":"a","annotations":{"volume.kubernetes.io/selected-node":"n1"}},)"
      R"("spec":{"volumeName":"v","storageClassName":"fast","accessModes":["ReadWriteOnce"]},"status":{"phase":"Pending"}})",
      "PersistentVolumeClaim");
  ASSERT_TRUE(claim.ok());
  EXPECT_EQ(std::get<KubeVolumeClaim>(*claim).volume, "") << "named, not bound";
  EXPECT_EQ(std::get<KubeVolumeClaim>(*claim).chosen, "n1");
  const auto volume =
      decoder.decode(R"({"metadata":{"name":"v"},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[)"
                     R"({"key":"zone","operator":"In","values":["a"]}]}]}}}})",
                     "PersistentVolume");
  ASSERT_TRUE(volume.ok());
  EXPECT_TRUE(one_holds(std::get<KubeVolume>(*volume).terms, node_with(R"("zone":"a")").node));
  EXPECT_FALSE(one_holds(std::get<KubeVolume>(*volume).terms, node_with(R"("zone":"b")").node));
  const auto kind = decoder.decode(R"({"metadata":{"name":"fast"},"provisioner":"p","volumeBindingMode":"WaitForFirstConsumer",)"
                                   R"("allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["b"]}]}]})",
                                   "StorageClass");
  ASSERT_TRUE(kind.ok());
  EXPECT_TRUE(std::get<KubeStorageClass>(*kind).waits);
  EXPECT_TRUE(one_holds(std::get<KubeStorageClass>(*kind).terms, node_with(R"("zone":"b")").node));
}

TEST(KubernetesPlacing, AMachineHasWholeGpusOrMigDevices) {
  const auto node = [](std::string_view capacity, std::string_view labels) {
    KubePlacingDecoder decoder;
    return std::get<KubePlacingNode>(*decoder.decode(
        fmt::format(R"({{"metadata":{{"name":"n","labels":{{{}}}}},"status":{{"capacity":{{{}}}}}}})", labels, capacity),
        "Node"));
  };
  EXPECT_TRUE(node(R"("nvidia.com/gpu":"8")", "").whole_gpus);
  EXPECT_TRUE(node(R"("nvidia.com/mig-1g.10gb":"7","nvidia.com/gpu":"0")", "").mig_devices);
  EXPECT_FALSE(node(R"("nvidia.com/mig-1g.10gb":"14")", R"("nvidia.com/mig-1g.10gb.replicas":"2")").is_machine());
  EXPECT_FALSE(node(R"("nvidia.com/mig-1g.10gb":"7","nvidia.com/gpu":"4")", "").is_machine());
  EXPECT_FALSE(node(R"("nvidia.com/gpu":"16")", R"("nvidia.com/gpu.replicas":"2")").is_machine());
}

TEST(KubernetesPlacing, SelectorAndAffinitySayWhereAPodMayBe) {
  const KubePlacingNode node = node_with(R"("zone":"a","gen":"9")");
  EXPECT_EQ(why_not_on(pod_with(R"(,"nodeSelector":{"zone":"a"})"), node), "");
  EXPECT_THAT(why_not_on(pod_with(R"(,"nodeSelector":{"zone":"b"})"), node), HasSubstr("zone=b"));
  const auto by = [&](std::string_view term) {
    return why_not_on(
        pod_with(fmt::format(
            R"(,"affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{}]}}}}}})",
            term)),
        node);
  };
  const auto rule = [](std::string_view key, std::string_view how, std::string_view values) {
    return fmt::format(R"({{"matchExpressions":[{{"key":"{}","operator":"{}","values":[{}]}}]}})", key, how, values);
  };
  EXPECT_EQ(by(rule("zone", "In", R"("b","a")")), "");
  EXPECT_NE(by(rule("zone", "NotIn", R"("b","a")")), "");
  EXPECT_EQ(by(rule("rack", "NotIn", R"("r1")")), "") << "a label that is absent is in no list";
  EXPECT_NE(by(rule("rack", "Exists", "")), "");
  EXPECT_EQ(by(rule("rack", "DoesNotExist", "")), "");
  EXPECT_EQ(by(rule("gen", "Gt", R"("8")")), "");
  EXPECT_NE(by(rule("gen", "Lt", R"("9")")), "");
  EXPECT_NE(by("{}"), "") << "an empty term matches nothing";
  EXPECT_EQ(by(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]})"), "");
  EXPECT_EQ(by(rule("zone", "In", R"("b")") + "," + rule("zone", "In", R"("a")")), "") << "one of the terms";
}

TEST(KubernetesPlacing, TaintsKeepPodsAway) {
  const KubePlacingNode node = node_with("", R"("taints":[{"key":"gpu","value":"yes","effect":"NoSchedule"}])");
  const auto with = [&](std::string_view toleration) {
    return why_not_on(pod_with(fmt::format(R"(,"tolerations":[{}])", toleration)), node);
  };
  EXPECT_THAT(why_not_on(pod_with(""), node), HasSubstr("taint gpu=yes"));
  EXPECT_EQ(with(R"({"key":"gpu","operator":"Exists"})"), "");
  EXPECT_EQ(with(R"({"key":"gpu","value":"yes"})"), "");
  EXPECT_NE(with(R"({"key":"gpu","value":"no"})"), "");
  EXPECT_NE(with(R"({"key":"gpu","operator":"Exists","effect":"NoExecute"})"), "");
  EXPECT_EQ(with(R"({"operator":"Exists"})"), "");
  EXPECT_NE(with(R"({"key":"gpu","operator":"Gt","value":"1"})"), "") << "not understood is not tolerated";
  EXPECT_EQ(why_not_on(pod_with(""), node_with("", R"("taints":[{"key":"t","effect":"PreferNoSchedule"}])")), "");
}

TEST(KubernetesPlacing, SaysWhatTakesNoWork) {
  EXPECT_EQ(why_no_work(node_with("")), "");
  EXPECT_EQ(why_no_work(node_with("", R"("unschedulable":true)")), "cordoned");
  EXPECT_EQ(why_no_work(node_with("", "", "Unknown")), "not ready");
  const KubePlacingNode pressed =
      node_with("", R"("taints":[{"key":"node.kubernetes.io/memory-pressure","effect":"NoSchedule"}])");
  EXPECT_THAT(why_no_work(pressed), HasSubstr("memory-pressure"));
  EXPECT_EQ(why_not_on(pod_with(""), pressed), "") << "it passes: the machine says so, not the pods";
}

TEST(KubernetesPlacing, WrongTypesAreErrorsThatNameTheObject) {
  KubePlacingDecoder decoder;
  const auto wrong = decoder.decode(R"({"kind":"Pod","metadata":{"name":"x","namespace":"a"},"spec":{"tolerations":7}})", "Pod");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("Pod a/x: tolerations"));
  EXPECT_FALSE(decoder.decode("[]", "Pod").ok());
  const auto event =
      decoder.decode_event(R"({"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"9"},"spec":7}})", "Pod");
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(event->object.has_value());
  EXPECT_EQ(event->event.version, "9");
}

}  // namespace
}  // namespace stint
