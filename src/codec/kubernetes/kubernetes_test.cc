// Importer "kubernetes": machines, shares of GPUs, owners, times and what is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/kubernetes/kubernetes_object.h"
#include "codec/testing_import.h"

namespace stint {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const Instant kTaken = Instant::from_seconds(1'790'000'000);

TestingSink import(std::string_view text, Status* status = nullptr) {
  return import_text(make_kubernetes_importer, {.source = "cluster.json", .node = "", .zoneless = {}, .at = kTaken}, text,
                     status);
}

std::string list_of(const std::vector<std::string>& items) {
  return fmt::format(R"({{"apiVersion":"v1","items":[{}],"kind":"List","metadata":{{"resourceVersion":""}}}})",
                     fmt::join(items, ","));
}

/// @param labels  further members of metadata.labels, each with a comma before it.
std::string node(std::string_view name, std::string_view labels, std::string_view capacity, std::string_view provider_id = "") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}","uid":"n-{0}","creationTimestamp":"2026-09-01T00:00:00Z",
    "labels":{{"kubernetes.io/hostname":"{0}"{1}}}}},"spec":{{"providerID":"{3}"}},
    "status":{{"capacity":{{"cpu":"96","memory":"1Ti"{2}}},"allocatable":{{"cpu":"95","memory":"1Ti"{2}}},
    "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
      name, labels, capacity, provider_id);
}

/// A pod that runs on `on`. @param resources  of its container's requests. @param meta  further members of metadata, a comma before each.
std::string pod(std::string_view name, std::string_view on, std::string_view resources, std::string_view meta = "") {
  return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","namespace":"acme","uid":"p-{0}",
    "creationTimestamp":"2026-09-10T10:00:00Z"{3}}},
    "spec":{{"nodeName":"{1}","containers":[{{"name":"main","image":"example.com/work:1","resources":{{"limits":{{{2}}}}}}}]}},
    "status":{{"phase":"Running","startTime":"2026-09-10T10:02:00Z",
    "conditions":[{{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-09-10T10:01:00Z"}}]}}}})",
                     name, on, resources, meta);
}

std::string owned_by(std::string_view kind, std::string_view name, std::string_view uid) {
  return fmt::format(R"(,"ownerReferences":[{{"apiVersion":"x/v1","kind":"{}","name":"{}","uid":"{}","controller":true}}])", kind,
                     name, uid);
}

const stint::Run& only_run(const TestingSink& sink) {
  CHECK(sink.runs.size() == 1, "{} runs", sink.runs.size());
  return sink.runs.front();
}

TEST(KubernetesQuantity, IsExactInThousandthsAndRoundsUp) {
  EXPECT_EQ(parse_kubernetes_quantity("8"), 8'000);
  EXPECT_EQ(parse_kubernetes_quantity("500m"), 500);
  EXPECT_EQ(parse_kubernetes_quantity("1.5"), 1'500);
  EXPECT_EQ(parse_kubernetes_quantity("1500u"), 2);
  EXPECT_EQ(parse_kubernetes_quantity("1e3"), 1'000'000);
  EXPECT_EQ(parse_kubernetes_quantity("2Ki"), 2'048'000);
  EXPECT_EQ(parse_kubernetes_quantity("1.5Gi"), int64_t{1536} * 1'048'576 * 1000);
  EXPECT_EQ(parse_kubernetes_quantity("2G"), 2'000'000'000'000);
  EXPECT_EQ(parse_kubernetes_quantity("0"), 0);
  for (const std::string_view wrong : {"", "-1", "1.2.3", ".", "1Qi", "1e", "9Ei", "1 ", "99999999999999999999"})
    EXPECT_FALSE(parse_kubernetes_quantity(wrong)) << wrong;
}

TEST(Kubernetes, MachineOfACloudWithItsPlaceMarketAndGpus) {
  const TestingSink sink =
      import(list_of({node("ip-10-0-0-1.ec2.internal",
                           R"(,"node.kubernetes.io/instance-type":"p5.48xlarge","topology.kubernetes.io/region":"us-east-1",
      "topology.kubernetes.io/zone":"us-east-1a","karpenter.sh/capacity-type":"spot","nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3",
      "nvidia.com/gpu.count":"8")",
                           R"(,"nvidia.com/gpu":"8")", "aws:///us-east-1a/i-0abc")}));
  ASSERT_EQ(sink.nodes.size(), 1U);
  const Node& n = sink.nodes[0];
  EXPECT_EQ(n.name, "ip-10-0-0-1.ec2.internal");
  EXPECT_EQ(n.resource_id, "i-0abc");
  EXPECT_EQ(n.provider, "aws");
  EXPECT_EQ(n.region, "us-east-1");
  EXPECT_EQ(n.zone, "us-east-1a");
  EXPECT_EQ(n.instance_type, "p5.48xlarge");
  EXPECT_EQ(n.market, Market::kSpot);
  EXPECT_EQ(n.gpu_model, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(n.gpu_count, 8);
  EXPECT_EQ(n.vcpus, 96);
  EXPECT_EQ(n.memory, Bytes::gibi(int64_t{1024}));
  EXPECT_EQ(format_utc(*n.present_from), "2026-09-01T00:00:00Z");
  EXPECT_TRUE(sink.rejected.empty());
}

TEST(Kubernetes, MarketsAsTheCloudsLabelThem) {
  const auto market = [](std::string_view label) { return import(list_of({node("n", label, "")})).nodes.at(0).market; };
  EXPECT_EQ(market(R"(,"eks.amazonaws.com/capacityType":"SPOT")"), Market::kSpot);
  EXPECT_EQ(market(R"(,"eks.amazonaws.com/capacityType":"ON_DEMAND")"), Market::kOnDemand);
  EXPECT_EQ(market(R"(,"cloud.google.com/gke-spot":"true")"), Market::kSpot);
  EXPECT_EQ(market(R"(,"kubernetes.azure.com/scalesetpriority":"spot")"), Market::kSpot);
  EXPECT_EQ(market(R"(,"karpenter.sh/capacity-type":"reserved")"), Market::kReserved);
  EXPECT_EQ(market(""), Market::kUnknown);
}

TEST(Kubernetes, PlacesOfGoogleAndAzure) {
  const TestingSink sink = import(
      list_of({node("gke-a", R"(,"topology.kubernetes.io/zone":"us-central1-a","cloud.google.com/gke-accelerator":"nvidia-l4")",
                    R"(,"nvidia.com/gpu":"1")", "gce://project/us-central1-a/gke-a"),
               node("vmss0", R"(,"topology.kubernetes.io/region":"eastus")", "",
                    "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/v/"
                    "virtualMachines/0")}));
  EXPECT_EQ(sink.nodes.at(0).provider, "gcp");
  EXPECT_EQ(sink.nodes.at(0).resource_id, "gke-a");
  EXPECT_EQ(sink.nodes.at(0).region, "us-central1");
  EXPECT_EQ(sink.nodes.at(0).gpu_model, "nvidia-l4");
  EXPECT_EQ(sink.nodes.at(1).provider, "azure");
  EXPECT_EQ(sink.nodes.at(1).resource_id,
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/v/virtualMachines/0");
}

TEST(Kubernetes, TimeSlicedGpusAreCountedOnceAndHeldInParts) {
  // Two cards offered as four each: one replica is a quarter, six are three quarters of both.
  const std::string sliced = node("n", R"(,"nvidia.com/gpu.product":"NVIDIA-A10G-SHARED","nvidia.com/gpu.count":"2",
      "nvidia.com/gpu.replicas":"4","nvidia.com/gpu.sharing-strategy":"time-slicing")",
                                  R"(,"nvidia.com/gpu":"8")");
  const TestingSink sink =
      import(list_of({sliced, pod("a", "n", R"("nvidia.com/gpu":"1")"), pod("b", "n", R"("nvidia.com/gpu":"6")")}));
  EXPECT_EQ(sink.nodes.at(0).gpu_count, 2);
  EXPECT_EQ(sink.nodes.at(0).gpu_model, "NVIDIA-A10G");
  ASSERT_EQ(sink.runs.size(), 2U);
  EXPECT_EQ(sink.runs[0].share, GpuShare::of(1, 4));
  EXPECT_EQ(sink.runs[0].allocations.at(0).gpu_count, 1);
  EXPECT_EQ(sink.runs[1].share, GpuShare::of(3, 4));
  EXPECT_EQ(sink.runs[1].allocations.at(0).gpu_count, 2);
  EXPECT_THAT(sink.notes, Contains("machines whose GPUs are shared: time-slicing 1"));
}

TEST(Kubernetes, MpsWithResourcesOfAnotherName) {
  const std::string shared = node("n", R"(,"nvidia.com/gpu.product":"NVIDIA-L4","nvidia.com/gpu.count":"1",
      "nvidia.com/gpu.replicas":"10","nvidia.com/gpu.sharing-strategy":"mps")",
                                  R"(,"nvidia.com/gpu.shared":"10")");
  const TestingSink sink = import(list_of({shared, pod("a", "n", R"("nvidia.com/gpu.shared":"3")")}));
  EXPECT_EQ(sink.nodes.at(0).gpu_count, 1);
  EXPECT_EQ(only_run(sink).share, GpuShare::of(3, 10));
  EXPECT_THAT(sink.notes, Contains("machines whose GPUs are shared: mps 1"));
}

TEST(Kubernetes, MigOfOneProfileHidesHowManyGpusThereAre) {
  // Strategy single: 14 instances 1g.10gb of an H100 are two cards; one is (8·1 + 7·1)/112 of a card.
  const std::string cut = node("n", R"(,"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb","nvidia.com/gpu.count":"14",
      "nvidia.com/mig.strategy":"single")",
                               R"(,"nvidia.com/gpu":"14")");
  const TestingSink sink = import(list_of({cut, pod("a", "n", R"("nvidia.com/gpu":"2")")}));
  EXPECT_EQ(sink.nodes.at(0).gpu_count, 2);
  EXPECT_EQ(sink.nodes.at(0).gpu_model, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(only_run(sink).allocations.at(0).gpu_count, 2);
  EXPECT_EQ(only_run(sink).share, GpuShare::of(15, 112));
}

TEST(Kubernetes, MigOfSeveralProfilesBesideWholeGpus) {
  const std::string cut =
      node("n", R"(,"nvidia.com/gpu.product":"NVIDIA-A100-SXM4-40GB","nvidia.com/gpu.count":"8","nvidia.com/mig.strategy":"mixed",
      "nvidia.com/mig-1g.5gb.replicas":"2")",
           R"(,"nvidia.com/gpu":"6","nvidia.com/mig-3g.20gb":"2","nvidia.com/mig-1g.5gb.shared":"8")");
  const TestingSink sink =
      import(list_of({cut, pod("a", "n", R"("nvidia.com/mig-3g.20gb":"1")"),
                      pod("b", "n", R"("nvidia.com/mig-1g.5gb.shared":"1")"), pod("c", "n", R"("nvidia.com/gpu":"4")")}));
  EXPECT_EQ(sink.nodes.at(0).gpu_count, 8);
  ASSERT_EQ(sink.runs.size(), 3U);
  EXPECT_EQ(sink.runs[0].share, GpuShare::of(8 * 3 + 7 * 4, 112));
  EXPECT_EQ(sink.runs[1].share, GpuShare::of(15, 224)) << "half an instance";
  EXPECT_EQ(sink.runs[2].allocations.at(0).gpu_count, 4);
  EXPECT_FALSE(sink.runs[2].share);
}

TEST(Kubernetes, InstancesOfAnUnknownCardAreSaid) {
  const TestingSink sink =
      import(list_of({node("n", R"(,"nvidia.com/gpu.product":"NVIDIA-X900-MIG-1g.99gb","nvidia.com/mig.strategy":"single")",
                           R"(,"nvidia.com/gpu":"7")")}));
  EXPECT_EQ(sink.nodes.at(0).gpu_count, 0);
  ASSERT_EQ(sink.rejected.size(), 1U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("how many GPUs it has is not told"));
}

TEST(Kubernetes, FractionsOfHamiAndOfKai) {
  std::string hami = node("n", R"(,"nvidia.com/gpu.memory":"81920")", R"(,"nvidia.com/gpu":"20")");
  hami.replace(
      hami.find(R"("labels")"), 0,
      R"("annotations":{"hami.io/node-nvidia-register":"GPU-1,10,81920,100,NVIDIA-H100,0,true:GPU-2,10,81920,100,NVIDIA-H100,0,true:"},)");
  const TestingSink sink =
      import(list_of({hami, pod("a", "n", R"("nvidia.com/gpu":"1","nvidia.com/gpucores":"30")"),
                      pod("b", "n", R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"20480")"),
                      pod("c", "n", "", R"(,"annotations":{"gpu-fraction":"0.25"})"), pod("d", "n", R"("nvidia.com/gpu":"1")")}));
  EXPECT_EQ(sink.nodes.at(0).gpu_count, 2);
  ASSERT_EQ(sink.runs.size(), 4U);
  EXPECT_EQ(sink.runs[0].share, GpuShare::of(3, 10));
  EXPECT_EQ(sink.runs[1].share, GpuShare::of(1, 4));
  EXPECT_EQ(sink.runs[2].share, GpuShare::of(1, 4));
  EXPECT_EQ(sink.runs[3].allocations.at(0).gpu_count, 1);
}

TEST(Kubernetes, DevicesClaimedByDynamicResourceAllocation) {
  const std::string slice = R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s","uid":"s"},
    "spec":{"driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"n","generation":2,"resourceSliceCount":1},"devices":[
    {"name":"gpu-0","attributes":{"type":{"string":"gpu"},"productName":{"string":"NVIDIA H100 80GB HBM3"},"uuid":{"string":"GPU-0"}}},
    {"name":"gpu-1","attributes":{"type":{"string":"gpu"},"productName":{"string":"NVIDIA H100 80GB HBM3"},"uuid":{"string":"GPU-1"}}},
    {"name":"channel-0","attributes":{"type":{"string":"channel"}}}]}})";
  std::string older = slice;  // of a generation that is gone
  older.replace(older.find(R"("generation":2)"), 14, R"("generation":1)");
  older.replace(older.find(R"("name":"s","uid":"s")"), 20, R"("name":"o","uid":"o")");
  older.replace(older.find("gpu-1"), 5, "gpu-7");
  const std::string claim =
      R"({"kind":"ResourceClaim","metadata":{"name":"c1","namespace":"acme","uid":"c"},"status":{"allocation":{"devices":
    {"results":[{"request":"r","driver":"gpu.nvidia.com","pool":"n","device":"gpu-1"}]}}}})";
  std::string claiming = pod("a", "n", "");
  claiming.replace(claiming.find(R"("containers")"), 0, R"("resourceClaims":[{"name":"g","resourceClaimTemplateName":"t"}],)");
  claiming.replace(claiming.find(R"("phase")"), 0, R"("resourceClaimStatuses":[{"name":"g","resourceClaimName":"c1"}],)");
  const TestingSink sink = import(list_of({older, slice, claim, claiming, node("n", "", "")}));
  EXPECT_EQ(sink.nodes.at(0).gpu_count, 2);
  EXPECT_EQ(sink.nodes.at(0).gpu_model, "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(only_run(sink).allocations.at(0).gpu_indexes, ElementsAre(1));
  EXPECT_EQ(only_run(sink).gpus_requested, 1);
}

TEST(Kubernetes, RunsAreNamedAfterTheTopmostOwner) {
  const std::string set = R"({"kind":"ReplicaSet","metadata":{"name":"llm-abc","namespace":"acme","uid":"rs")" +
                          owned_by("Deployment", "llm", "d") + "}}";
  const std::string deployment = R"({"kind":"Deployment","metadata":{"name":"llm","namespace":"acme","uid":"d")" +
                                 owned_by("InferenceService", "llama", "is") + "}}";
  const TestingSink sink =
      import(list_of({pod("llm-abc-x", "n", R"("nvidia.com/gpu":"1")", owned_by("ReplicaSet", "llm-abc", "rs")),
                      pod("w-0", "n", R"("nvidia.com/gpu":"1")", owned_by("PyTorchJob", "w", "pt")), set, deployment}));
  ASSERT_EQ(sink.runs.size(), 2U);
  EXPECT_EQ(sink.runs[0].name, "llama");
  EXPECT_EQ(sink.runs[0].kind, WorkloadKind::kRealtimeInference);
  EXPECT_EQ(sink.runs[1].name, "w");
  EXPECT_EQ(sink.runs[1].kind, WorkloadKind::kTraining);
  EXPECT_THAT(sink.notes, Contains(HasSubstr("2 pods on machines that are not in the input")));
}

TEST(Kubernetes, LabelsAndTheKindOfTheOwnerAreKept) {
  const TestingSink sink = import(list_of({pod("w-0", "n", R"("nvidia.com/gpu":"1")",
                                               R"(,"labels":{"tier":"front","app":"w"})" + owned_by("PyTorchJob", "w", "pt"))}));
  ASSERT_EQ(sink.run_owners.size(), 1U);
  EXPECT_EQ(sink.run_owners[0].run_id, only_run(sink).id);
  EXPECT_EQ(sink.run_owners[0].kind, "PyTorchJob");
  EXPECT_THAT(sink.run_owners[0].labels, ElementsAre(Tag("app", "w"), Tag("tier", "front")));
}

TEST(Kubernetes, OwnersThatAreNotInTheInputAreToldByTheirNames) {
  // 2026-09-10T10:00Z is minute 29817240 since 1970.
  const TestingSink sink =
      import(list_of({pod("web-5d9c7b6f4-x", "n", R"("nvidia.com/gpu":"1")",
                          R"(,"labels":{"pod-template-hash":"5d9c7b6f4"})" + owned_by("ReplicaSet", "web-5d9c7b6f4", "gone")),
                      pod("nightly-29817240-y", "n", R"("nvidia.com/gpu":"1")", owned_by("Job", "nightly-29817240", "gone2")),
                      pod("resnet-12345678-z", "n", R"("nvidia.com/gpu":"1")", owned_by("Job", "resnet-12345678", "gone3")),
                      pod("sh-2xk", "n", R"("nvidia.com/gpu":"1")", R"(,"generateName":"sh-")")}));
  std::map<std::string, std::string> names;
  for (const stint::Run& run : sink.runs)
    names[run.holder.pod] = run.name;
  EXPECT_EQ(names["web-5d9c7b6f4-x"], "web");
  EXPECT_EQ(names["nightly-29817240-y"], "nightly");
  EXPECT_EQ(names["resnet-12345678-z"], "resnet-12345678") << "no minute of that day";
  EXPECT_EQ(names["sh-2xk"], "sh");
}

TEST(Kubernetes, OwnersThatGoRoundEnd) {
  const TestingSink sink =
      import(list_of({pod("a", "n", R"("nvidia.com/gpu":"1")", owned_by("Job", "j", "j")),
                      R"({"kind":"Job","metadata":{"name":"j","uid":"j")" + owned_by("JobSet", "s", "s") + "}}",
                      R"({"kind":"JobSet","metadata":{"name":"s","uid":"s")" + owned_by("Job", "j", "j") + "}}"}));
  EXPECT_EQ(sink.runs.size(), 1U);
}

TEST(Kubernetes, ReplicasOfAStatefulSetAreOneWorkload) {
  std::vector<std::string> items;
  for (int i = 0; i < 8; ++i)
    items.push_back(pod(fmt::format("vllm-{}", i), "n", R"("nvidia.com/gpu":"1")", owned_by("StatefulSet", "vllm", "s")));
  const TestingSink sink = import(list_of(items));
  ASSERT_EQ(sink.runs.size(), 8U);
  for (const stint::Run& run : sink.runs)
    EXPECT_EQ(run.name, "vllm");
}

TEST(Kubernetes, TimesAreThoseOfTheBindingAndOfTheLastContainer) {
  const TestingSink running = import(list_of({pod("a", "n", R"("nvidia.com/gpu":"1")")}));
  EXPECT_EQ(format_utc(*only_run(running).submitted), "2026-09-10T10:00:00Z");
  EXPECT_EQ(format_utc(*only_run(running).started), "2026-09-10T10:01:00Z");
  EXPECT_EQ(only_run(running).ended, kTaken);
  EXPECT_EQ(only_run(running).state, RunState::kRunning);

  std::string done = pod("a", "n", R"("nvidia.com/gpu":"1")");
  done.replace(done.find(R"("phase":"Running")"), 17, R"("phase":"Succeeded","containerStatuses":[
    {"name":"x","state":{"terminated":{"finishedAt":"2026-09-10T11:00:00Z"}}},{"name":"y","state":{"terminated":{"finishedAt":"2026-09-10T12:30:00Z"}}}])");
  EXPECT_EQ(format_utc(*only_run(import(list_of({done}))).ended), "2026-09-10T12:30:00Z");
  EXPECT_EQ(only_run(import(list_of({done}))).state, RunState::kCompleted);

  std::string evicted = pod("a", "n", R"("nvidia.com/gpu":"1")");
  evicted.replace(evicted.find(R"("phase":"Running")"), 17, R"("phase":"Failed","reason":"Evicted")");
  EXPECT_EQ(only_run(import(list_of({evicted}))).state, RunState::kPreempted);
  EXPECT_EQ(format_utc(*only_run(import(list_of({evicted}))).ended), "2026-09-10T10:01:00Z") << "nothing later is known";

  std::string waiting = pod("a", "", R"("nvidia.com/gpu":"4")");
  waiting.replace(waiting.find(R"("phase":"Running")"), 17, R"("phase":"Pending")");
  EXPECT_EQ(only_run(import(list_of({waiting}))).state, RunState::kPending);
  EXPECT_FALSE(only_run(import(list_of({waiting}))).started);
  EXPECT_EQ(only_run(import(list_of({waiting}))).gpus_requested, 4);
  EXPECT_TRUE(only_run(import(list_of({waiting}))).allocations.empty());
}

TEST(Kubernetes, InitContainersCountWhereTheyAskForMore) {
  std::string large_start = pod("a", "n", R"("nvidia.com/gpu":"1")");
  large_start.replace(
      large_start.find(R"("containers")"), 0,
      R"("initContainers":[{"name":"side","restartPolicy":"Always","resources":{"requests":{"nvidia.com/gpu":"1"}}},
    {"name":"init","resources":{"requests":{"nvidia.com/gpu":"4"}}}],)");
  EXPECT_EQ(only_run(import(list_of({large_start}))).gpus_requested, 5) << "the sidecar stays beside the init container";
}

TEST(Kubernetes, ClientsAreNamespacesUnlessALabelSaysOtherwise) {
  const std::string labelled =
      pod("a", "n", R"("nvidia.com/gpu":"1")", R"(,"labels":{"team":"nlp","tenant":"somebody-else","component":"c"})");
  const std::string ns = R"({"kind":"Namespace","metadata":{"name":"acme","labels":{"billing":"ACME Ltd","env":"prod"}}})";
  const stint::Run run = only_run(import(list_of({labelled, ns})));
  EXPECT_EQ(run.holder.ns, "acme");
  EXPECT_EQ(run.tenant.client, "") << "a pod does not choose who pays";
  EXPECT_EQ(run.tenant.team, "nlp");
  EXPECT_EQ(run.tenant.environment, "prod");
  EXPECT_EQ(run.tenant.workload, "");
  const TestingSink by_label =
      import_text(make_kubernetes_importer, {.source = "c", .node = "", .zoneless = {}, .at = {}, .client_label = "billing"},
                  list_of({labelled, ns}));
  EXPECT_EQ(only_run(by_label).tenant.client, "ACME Ltd");
}

TEST(Kubernetes, WhatIsLeftOutIsCounted) {
  const TestingSink sink = import(list_of(
      {pod("web", "n", R"("cpu":"1")"), pod("db", "n", R"("cpu":"1")"), R"({"kind":"ConfigMap","metadata":{"name":"c"}})",
       node("n", "", R"(,"google.com/tpu":"4")"),
       R"({"kind":"ResourceQuota","metadata":{"name":"q","namespace":"acme"},"spec":{"hard":{"requests.nvidia.com/gpu":"8","pods":"5"}},
         "status":{"used":{"requests.nvidia.com/gpu":"6"}}})"}));
  EXPECT_THAT(sink.notes, ElementsAre("GPU quotas used: acme 6 of 8 nvidia.com/gpu", "2 pods without GPUs left out",
                                      "accelerators that are no GPUs, by machines: google.com/tpu 1",
                                      "objects of other kinds left out: ConfigMap 1"));
  EXPECT_TRUE(sink.rejected.empty());
}

TEST(Kubernetes, GpusThatCannotBeGivenOutAreNamed) {
  std::string broken = node("n", "", R"(,"nvidia.com/gpu":"8")");
  broken.replace(broken.rfind(R"("nvidia.com/gpu":"8")"), 20, R"("nvidia.com/gpu":"6")");
  EXPECT_THAT(import(list_of({broken})).notes, Contains("GPUs that exist but cannot be given out: n 2"));
}

TEST(Kubernetes, ListsOfTheApiAndSeveralDocuments) {
  std::string bare = pod("a", "n", R"("nvidia.com/gpu":"1")");
  bare.replace(bare.find(R"("apiVersion":"v1","kind":"Pod",)"), 31, "");
  const TestingSink sink =
      import(R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"x"},"items":[)" + bare +
             "]}\n" + R"({"kind":"NodeList","items":null})" + node("n", "", ""));
  EXPECT_EQ(sink.runs.size(), 1U);
  EXPECT_EQ(sink.nodes.size(), 1U);
}

TEST(Kubernetes, BadObjectsAreNamedAndTheOthersStay) {
  std::string wrong = pod("bad", "n", R"("nvidia.com/gpu":"many")");
  const TestingSink sink = import(list_of({wrong, R"({"metadata":{"name":"x"}})", R"({"kind":"Pod","metadata":{}})",
                                           R"({"kind":"Node","metadata":{"name":"t","creationTimestamp":"soon"}})",
                                           pod("good", "n", R"("nvidia.com/gpu":"1")")}));
  ASSERT_EQ(sink.rejected.size(), 4U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("object 1: Pod acme/bad: limits.nvidia.com/gpu: 'many' is no amount"));
  EXPECT_THAT(sink.rejected[1].second, HasSubstr("kind: the object does not say what it is"));
  EXPECT_THAT(sink.rejected[2].second, HasSubstr("metadata.name: absent"));
  EXPECT_THAT(sink.rejected[3].second, HasSubstr("creationTimestamp: 'soon' is no time"));
  EXPECT_EQ(sink.runs.size(), 1U);
}

TEST(Kubernetes, WhatIsNoJsonOfItIsAnError) {
  for (const std::string_view text : {"", "  \n", "apiVersion: v1\nkind: List\n", R"({"kind":"List","items":[{"kind":"Pod")",
                                      R"({"kind")", R"({"kind":"List","items":[7]})", "[]", R"({"items":[]}})"}) {
    Status status;
    import(text, &status);
    EXPECT_FALSE(status.ok()) << text;
  }
}

TEST(Kubernetes, PiecesOfAnySizeGiveTheSame) {
  const std::string text = list_of({node("n", "", R"(,"nvidia.com/gpu":"8")"), pod("a", "n", R"("nvidia.com/gpu":"2")"),
                                    R"({"kind":"Event","metadata":{"name":"e"}})"});
  const TestingSink whole = import(text);
  for (const size_t size : {size_t{1}, size_t{7}, size_t{100}}) {
    TestingSink sink;
    const auto importer = make_kubernetes_importer({.source = "c", .node = "", .zoneless = {}, .at = kTaken}, sink);
    for (size_t at = 0; at < text.size(); at += size)
      ASSERT_TRUE(importer->feed(std::string_view(text).substr(at, size)).ok());
    ASSERT_TRUE(importer->finish().ok());
    EXPECT_EQ(sink.runs.size(), whole.runs.size());
    EXPECT_EQ(sink.nodes.size(), whole.nodes.size());
    EXPECT_EQ(sink.notes, whole.notes);
  }
}

}  // namespace
}  // namespace stint
