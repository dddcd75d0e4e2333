// What a cluster is to be told for a Change. That an API server takes it, and what comes of it, is shown by tests/kubernetes/test_change.py.
#include "codec/kubernetes/kube_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/kubernetes/kube_change_files.h"

namespace stint {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A cluster of machines n1, n2, … with pods, and what the API server has of their owners.
class KubeChangeTest : public testing::Test {
 protected:
  void machine(const std::string& name, const std::string& type, const json& more = json::object()) {
    json labels = {{"node.kubernetes.io/instance-type", type}, {"topology.kubernetes.io/region", "us-east-1"}};
    labels.update(more);
    read({{"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", labels}}},
          {"status", {{"capacity", {{"nvidia.com/gpu", "8"}}}}}},
         "Node");
    fleet_.nodes.push_back({.name = name,
                            .resource_id = name,
                            .provider = "aws",
                            .region = "us-east-1",
                            .zone = "",
                            .instance_type = type,
                            .market = Market::kOnDemand,
                            .gpu_model = "H100",
                            .gpu_count = 8,
                            .off = {},
                            .sharing = {}});
  }
  void pod(const std::string& name, const std::string& node, const std::string& kind, const std::string& owner) {
    read({{"kind", "Pod"},
          {"metadata",
           {{"name", name},
            {"namespace", "acme"},
            {"uid", "u-" + name},
            {"ownerReferences", {{{"kind", kind}, {"name", owner}, {"uid", "u-" + owner}, {"controller", true}}}}}},
          {"spec",
           {{"nodeName", node}, {"containers", {{{"name", "m"}, {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}},
          {"status", {{"phase", "Running"}}}},
         "Pod");
  }
  void object(const std::string& kind, const std::string& name, const json& spec) {
    objects_[{kind, "acme", name}] = json{{"metadata", {{"name", name}, {"namespace", "acme"}}}, {"spec", spec}}.dump();
  }
  void read(const json& what, const std::string& kind) { state_.read(what.dump(), kind); }

  KubeChangePlan plan(const std::vector<Change>& changes, const std::string& image = "") {
    return plan_kube_change({.changes = changes,
                             .fleet = fleet_,
                             .contents = state_.contents(),
                             .objects = objects_,
                             .set = set_,
                             .autoscalers = autoscalers_,
                             .kubectl_image = image});
  }
  static std::vector<std::string> texts(const KubeChangePlan& plan) {
    std::vector<std::string> out;
    for (const KubePatch& patch : plan.patches) {
      json fields = json::object();
      for (const KubeField& field : patch.fields)
        fields[field.at] = json::parse(field.value);
      out.push_back(patch.object.text() + " " + fields.dump());
    }
    return out;
  }

  KubernetesState state_;
  FleetPlan fleet_ = {.nodes = {}, .commitments = {}, .limits = {}};
  KubeObjects objects_;
  KubeFieldsSet set_;
  std::vector<std::string> autoscalers_;
};

TEST_F(KubeChangeTest, AMachineThatIsStoppedTakesNoPodsAndLosesThoseThatAreMadeAnew) {
  machine("n1", "p5.48xlarge");
  pod("llm-1", "n1", "StatefulSet", "llm");
  pod("tune-1", "n1", "Job", "tune");
  object("StatefulSet", "llm", {{"replicas", 1}});
  const KubeChangePlan told = plan({StopNodes{{"n1", "elsewhere"}}});
  EXPECT_THAT(texts(told), ElementsAre(R"(Node n1 {"/spec/unschedulable":true})"));
  EXPECT_THAT(told.evicted, ElementsAre(KubeObjectName{"Pod", "acme", "llm-1"}));
  EXPECT_THAT(told.stays, ElementsAre("acme/tune-1 of Job tune, on n1"));
  EXPECT_THAT(told.by_hand, ElementsAre("elsewhere: no machine of this cluster"));
}

TEST_F(KubeChangeTest, FewerMachinesHaveFewerReplicas) {
  machine("n1", "p5.48xlarge");
  machine("n2", "p5.48xlarge");
  pod("llm-1", "n1", "Deployment", "llm");
  pod("llm-2", "n2", "Deployment", "llm");
  pod("llm-3", "n2", "Deployment", "llm");
  object("Deployment", "llm", {{"replicas", 3}});
  const Change fewer = ResizeNodes{.nodes = {"n1", "n2"}, .to_instance_type = "p5.48xlarge", .to_region = "", .to_count = 1};
  EXPECT_THAT(texts(plan({fewer})),
              ElementsAre(R"(Node n2 {"/spec/unschedulable":true})",
                          R"(Pod acme/llm-2 {"/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost":"-1000000"})",
                          R"(Pod acme/llm-3 {"/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost":"-1000000"})",
                          R"(Deployment acme/llm {"/spec/replicas":1})"));
  // Killed before the pods went, the same again counts them no second time.
  object("Deployment", "llm", {{"replicas", 1}});
  set_[{"Deployment", "acme", "llm"}] = {{"/spec/replicas", "1"}};
  EXPECT_THAT(texts(plan({fewer})), testing::Contains(R"(Deployment acme/llm {"/spec/replicas":1})"));
  // Who scales it says how many there are.
  set_.clear();
  autoscalers_ = {R"({"metadata":{"name":"llm-hpa","namespace":"acme"},
    "spec":{"minReplicas":2,"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"llm"}}})"};
  EXPECT_THAT(texts(plan({fewer})),
              testing::Contains(R"(HorizontalPodAutoscaler acme/llm-hpa {"/spec/maxReplicas":1,"/spec/minReplicas":1})"));
}

TEST_F(KubeChangeTest, WorkMovesByItsTemplateToMachinesThatAreThere) {
  machine("n1", "p5.48xlarge");
  pod("llm-1", "n1", "Deployment", "llm");
  pod("alone", "n1", "PyTorchJob", "bert");
  object("Deployment", "llm", {{"replicas", 1}, {"template", {{"spec", {{"nodeSelector", {{"disk", "fast"}}}}}}}});
  const Change other = ResizeNodes{.nodes = {"n1"}, .to_instance_type = "g6e.xlarge", .to_region = "", .to_count = 1};
  KubeChangePlan told = plan({other});
  EXPECT_TRUE(told.does_nothing()) << "there is no such machine yet";
  EXPECT_THAT(told.by_hand, ElementsAre(HasSubstr("no machine with node.kubernetes.io/instance-type=g6e.xlarge is there")));
  machine("n2", "g6e.xlarge");
  told = plan({other});
  EXPECT_THAT(texts(told), ElementsAre(R"(Node n1 {"/spec/unschedulable":true})",
                                       R"(Deployment acme/llm {"/spec/template/spec/nodeSelector":)"
                                       R"({"disk":"fast","node.kubernetes.io/instance-type":"g6e.xlarge"}})"));
  EXPECT_THAT(told.stays, ElementsAre("acme/alone of PyTorchJob bert, on n1"));
  EXPECT_THAT(told.evicted, IsEmpty()) << "the new template rolls them out anew";
  // What runs elsewhere too would be moved along.
  pod("llm-2", "n2", "Deployment", "llm");
  EXPECT_THAT(plan({other}).by_hand, testing::Contains(HasSubstr("Deployment acme/llm runs on n2 as well")));
}

TEST_F(KubeChangeTest, SpotIsASelectorAndAToleration) {
  machine("n1", "p5.48xlarge");
  machine("n2", "p5.48xlarge", {{"eks.amazonaws.com/capacityType", "SPOT"}});
  pod("tune-1", "n1", "Deployment", "tune");
  object("Deployment", "tune", {{"template", {{"spec", {{"tolerations", {{{"key", "team"}, {"operator", "Exists"}}}}}}}}});
  const KubeChangePlan told = plan({SwitchMarket{{"n1"}, Market::kSpot}});
  ASSERT_EQ(told.patches.size(), 2U);
  const json tolerations = json::parse(told.patches[1].fields[1].value);
  ASSERT_EQ(tolerations.size(), 2U) << "those that were there stay";
  EXPECT_EQ(tolerations[1]["key"], "eks.amazonaws.com/capacityType");
  EXPECT_EQ(tolerations[1]["effect"], "NoSchedule");
  EXPECT_THAT(plan({SwitchMarket{{"n1"}, Market::kReserved}}).by_hand, ElementsAre(HasSubstr("bought of the provider")));
}

TEST_F(KubeChangeTest, GpusAreCutOnceNothingRunsThere) {
  machine("n1", "p4d.24xlarge");
  machine("n2", "p4d.24xlarge");
  pod("llm-1", "n2", "Deployment", "llm");
  ShareGpus share{.mode = SharingMode::kMig, .nodes = {"n1", "n2"}, .keep = {"n1"}, .placements = {}};
  share.placements.push_back({.workload = "llm", .from_node = "n2", .to_node = "n1", .mig_profile = "1g.5gb"});
  KubeChangePlan told = plan({share});
  EXPECT_THAT(texts(told), ElementsAre(R"(Node n1 {"/metadata/labels/nvidia.com~1mig.config":"all-1g.5gb"})",
                                       R"(Node n2 {"/spec/unschedulable":true})"));
  EXPECT_THAT(told.cut, ElementsAre("n1"));
  pod("old", "n1", "Job", "old");
  told = plan({share});
  EXPECT_THAT(told.cut, IsEmpty());
  EXPECT_THAT(texts(told), testing::Contains(R"(Node n1 {"/spec/unschedulable":true})"));
  EXPECT_THAT(told.by_hand, ElementsAre(HasSubstr("n1 is cut once nothing runs there")));
  share.placements.push_back({.workload = "b", .from_node = "n2", .to_node = "n1", .mig_profile = "3g.20gb"});
  EXPECT_THAT(plan({share}).by_hand, ElementsAre(HasSubstr("different parts")));
}

TEST_F(KubeChangeTest, ALimitIsThatOfTheOneCronJobOfThatName) {
  const std::vector<KubeObjectName> jobs = {{"CronJob", "acme", "nightly"}, {"CronJob", "zoo", "weekly"}};
  const Change limit =
      LimitReservation{.workload = "nightly", .nodes = {}, .from = Duration::hours(12), .to = Duration::hours(4)};
  EXPECT_THAT(touched_objects(std::vector<Change>{limit}, state_.contents(), jobs), ElementsAre(jobs[0]));
  EXPECT_THAT(plan({limit}).by_hand, ElementsAre(HasSubstr("no CronJob")));
  object("CronJob", "nightly", json::object());
  EXPECT_THAT(texts(plan({limit})),
              ElementsAre(R"(CronJob acme/nightly {"/spec/jobTemplate/spec/activeDeadlineSeconds":14400})"));
  objects_[{"CronJob", "zoo", "nightly"}] = "{}";
  EXPECT_THAT(plan({limit}).by_hand, ElementsAre(HasSubstr("2 CronJobs")));
}

TEST_F(KubeChangeTest, AScheduleIsCronJobsThatScale) {
  machine("n1", "p5.48xlarge");
  pod("llm-1", "n1", "Deployment", "llm");
  object("Deployment", "llm", {{"replicas", 2}});
  ScheduleOff schedule{.nodes = {"n1"}, .off = {}};
  for (size_t hour = 20; hour < 31; ++hour)
    schedule.off.set(hour);  // Monday 20:00 to Tuesday 07:00
  EXPECT_THAT(plan({schedule}).by_hand, ElementsAre(HasSubstr("--kubectl-image")));
  const KubeChangePlan told = plan({schedule}, "example.com/kubectl:1");
  std::vector<std::string> kinds, schedules;
  for (const KubePatch& patch : told.patches) {
    EXPECT_TRUE(patch.is_made);
    kinds.push_back(patch.object.kind);
    if (patch.object.kind != "CronJob") continue;
    const json job = json::parse(kube_patch_json(patch));
    schedules.push_back(job["spec"]["schedule"].get<std::string>() + " " +
                        job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"].dump());
  }
  EXPECT_THAT(kinds, ElementsAre("ServiceAccount", "Role", "RoleBinding", "CronJob", "CronJob"));
  EXPECT_THAT(schedules, ElementsAre(R"(0 20 * * 1 ["kubectl","scale","--namespace","acme","--replicas=0","deployment/llm"])",
                                     R"(0 7 * * 2 ["kubectl","scale","--namespace","acme","--replicas=2","deployment/llm"])"));
}

TEST_F(KubeChangeTest, FilesAreAComponentWithItsPatchesAndTheMachinesApart) {
  machine("n1", "p5.48xlarge");
  machine("n2", "g6e.xlarge");
  pod("llm-1", "n1", "Deployment", "llm");
  object("Deployment", "llm", {{"replicas", 1}});
  const auto files = kube_change_files(
      plan({ResizeNodes{.nodes = {"n1"}, .to_instance_type = "g6e.xlarge", .to_region = "", .to_count = 1}}), "Smaller\nones");
  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_EQ(files->size(), 3U);
  EXPECT_THAT(files->at("kustomization.yaml"), HasSubstr("kind: Component"));
  EXPECT_THAT(files->at("kustomization.yaml"), HasSubstr("path: deployment-acme-llm.yaml"));
  EXPECT_THAT(files->at("deployment-acme-llm.yaml"), HasSubstr("node.kubernetes.io/instance-type: g6e.xlarge"));
  EXPECT_THAT(files->at("machines.yaml"), HasSubstr("unschedulable: true"));
  EXPECT_THAT(files->at("machines.yaml"), testing::Not(HasSubstr("\nones"))) << "a title stays in its comment";
}

}  // namespace
}  // namespace stint
