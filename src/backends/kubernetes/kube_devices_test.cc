// Devices for claims: conditions, numbers, what they have in common, who has what already.
#include "backends/kubernetes/kube_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/kubernetes/kube_cluster.h"
#include "backends/kubernetes/kube_fleet.h"
#include "backends/kubernetes/kube_queue.h"
#include "backends/kubernetes/kube_requests.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Instant kDevicesNow = Instant::from_seconds(1'790'000'000);

class KubeDevicesTest : public testing::Test {
 protected:
  KubeDevicesTest() {
    cluster_.devices.known = true;
    cluster_.take(
        R"({"kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":)"
        R"("device.driver == 'gpu.example.com'"}}],"config":[{"opaque":{"driver":"gpu.example.com","parameters":{"mode":"x"}}}]}})",
        "DeviceClass");
    for (int i = 0; i < 2; ++i)
      node(fmt::format("n{}", i), 4);
  }
  /// Its GPUs lie on two boards.
  void node(const std::string& name, int gpus) {
    cluster_.take(fmt::format(R"({{"kind":"Node","metadata":{{"name":"{}"}},"status":{{"capacity":{{"cpu":"64"}},)"
                              R"("allocatable":{{"cpu":"64","memory":"512Gi","pods":"110"}}}}}})",
                              name),
                  "Node");
    std::string devices;
    for (int i = 0; i < gpus; ++i)
      devices += fmt::format(R"({}{{"name":"gpu-{}","attributes":{{"type":{{"string":"gpu"}},"board":{{"int":{}}}}}}})",
                             i > 0 ? "," : "", i, i % 2);
    cluster_.take(
        fmt::format(R"({{"kind":"ResourceSlice","metadata":{{"name":"{0}-s"}},"spec":{{"driver":"gpu.example.com",)"
                    R"("nodeName":"{0}","pool":{{"name":"{0}","generation":1,"resourceSliceCount":1}},"devices":[{1}]}}}})",
                    name, devices),
        "ResourceSlice");
  }
  const KubeDeviceClaim& claim(const std::string& name, std::string_view exactly, std::string_view constraints = "",
                               std::string_view status = "") {
    cluster_.take(
        fmt::format(
            R"({{"kind":"ResourceClaim","metadata":{{"name":"{0}","namespace":"acme","uid":"{0}","resourceVersion":"1"}},)"
            R"("spec":{{"devices":{{"requests":[{{"name":"g","exactly":{{"deviceClassName":"gpu"{1}}}}}],)"
            R"("constraints":[{2}]}}}},"status":{{{3}}}}})",
            name, exactly, constraints, status),
        "ResourceClaim");
    return cluster_.devices.claims.at("acme/" + name);
  }
  void pod(const std::string& name, const std::string& claim) {
    cluster_.take(fmt::format(R"({{"kind":"Pod","metadata":{{"name":"{0}","namespace":"acme","uid":"{0}-uid"}},"spec":{{)"
                              R"("schedulerName":"stint","resourceClaims":[{{"name":"g","resourceClaimName":"{1}"}}],)"
                              R"("containers":[{{"name":"m","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}})",
                              name, claim),
                  "Pod");
  }
  /// "gpu-0 gpu-1", or why not.
  std::string on(const std::string& node, const KubeDeviceClaim& claim, bool of_all = false) {
    const KubeDeviceBook book(cluster_.devices);
    const auto found = book.allocate({&claim}, node, of_all);
    if (!found.ok()) return found.error().message;
    std::string text;
    for (const KubeAllocated& one : found->front().devices)
      text += (text.empty() ? "" : " ") + one.device.device;
    return text;
  }
  std::vector<OthersJob> look() {
    std::vector<OthersJob> jobs;
    for (BackendEvent& event : queue_.look(cluster_, kDevicesNow))
      jobs.push_back(std::get<OthersJob>(std::move(event)));
    return jobs;
  }

  KubeCluster cluster_;
  KubeQueue queue_{{.mark = "m1", .namespaces = {}, .known_queues = {"acme", "rest"}, .queue = "rest", .priority_classes = {}}};
};

constexpr std::string_view kHasThree =
    R"("allocation":{"devices":{"results":[{"request":"g","driver":"gpu.example.com","pool":"n0","device":"gpu-0"},)"
    R"({"request":"g","driver":"gpu.example.com","pool":"n0","device":"gpu-1"},)"
    R"({"request":"g","driver":"gpu.example.com","pool":"n0","device":"gpu-2"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":)"
    R"([{"key":"metadata.name","operator":"In","values":["n0"]}]}]}})";

TEST_F(KubeDevicesTest, TakesTheFirstThatDo) {
  EXPECT_EQ(on("n0", claim("c", R"(,"count":2)")), "gpu-0 gpu-1");
  EXPECT_EQ(on("n0", claim("c", R"(,"allocationMode":"All")")), "gpu-0 gpu-1 gpu-2 gpu-3");
  EXPECT_THAT(on("n0", claim("c", R"(,"count":5)")), HasSubstr("4 of the 5 devices"));
  EXPECT_EQ(on("n0", claim("c", R"(,"count":2)", R"({"matchAttribute":"gpu.example.com/board"})")), "gpu-0 gpu-2");
  EXPECT_EQ(on("n0", claim("c", R"(,"count":2)", R"({"distinctAttribute":"gpu.example.com/board"})")), "gpu-0 gpu-1");
  EXPECT_THAT(on("n0", claim("c", R"(,"count":3)", R"({"matchAttribute":"gpu.example.com/board"})")),
              HasSubstr("do not go together"));
  EXPECT_EQ(on("n0", claim("c", R"(,"selectors":[{"cel":{"expression":"device.attributes['gpu.example.com'].board == 1"}}])")),
            "gpu-1");
  EXPECT_THAT(on("elsewhere", claim("c", "")), HasSubstr("no devices"));
}

TEST_F(KubeDevicesTest, WhatOthersHaveIsNotFree) {
  claim("theirs", R"(,"count":3)", "", kHasThree);
  EXPECT_EQ(on("n0", claim("c", "")), "gpu-3");
  EXPECT_THAT(on("n0", claim("c", R"(,"count":2)")), HasSubstr("1 of the 2 devices"));
  EXPECT_EQ(on("n0", claim("c", R"(,"count":2)"), true), "gpu-0 gpu-1") << "as if nothing were taken";
  KubeDeviceBook book(cluster_.devices);
  const KubeDeviceClaim& two = claim("two", "");
  book.take(*book.allocate({&two}, "n0", false));
  EXPECT_FALSE(book.allocate({&two}, "n0", false).ok());
}

TEST_F(KubeDevicesTest, AnIncompletePoolOffersNothing) {
  cluster_.devices.slices.at("n0-s").slices = 2;
  EXPECT_THAT(on("n0", claim("c", "")), HasSubstr("no devices"));
}

TEST_F(KubeDevicesTest, ClaimsAreGpusOfTheJob) {
  claim("c", R"(,"count":2)");
  pod("p", "c");
  pod("q", "absent");
  auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].gpus, 2);
  EXPECT_THAT(jobs[0].only_on, IsEmpty()) << "any machine";
  EXPECT_THAT(queue_.complaints().front().message, HasSubstr("absent is not there"));
  KubeFleet fleet({});
  const auto news = fleet.look(cluster_);
  ASSERT_THAT(news, SizeIs(2));
  EXPECT_EQ(news[0].machine.node.gpus, 4);
  EXPECT_EQ(news[0].news, MachineNews::kThere);
}

TEST_F(KubeDevicesTest, AClaimThatHasItsDevicesSaysWhere) {
  claim("c", R"(,"count":3)", "", kHasThree);
  pod("p", "c");
  const auto jobs = look();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs[0].only_on, ElementsAre("n0"));
  EXPECT_EQ(cluster_.claimed_gpus(cluster_.pods.at("p-uid")), 3);
}

TEST_F(KubeDevicesTest, AnAllocationSaysAllThatDriversNeed) {
  const KubeDeviceClaim& c = claim("c", "");
  pod("p", "c");
  const std::vector<KubeAllocated> devices = {{"g", {"gpu.example.com", "n0", "gpu-0"}}};
  const KubeChange change = reserve_request(c, devices, class_configs(c, cluster_.devices), cluster_.pods.at("p-uid"), "n0");
  EXPECT_THAT(change.path, HasSubstr("/namespaces/acme/resourceclaims/c/status"));
  for (const std::string_view part : {R"("resourceVersion":"1")", R"("device":"gpu-0")", R"("source":"FromClass")",
                                      R"("requests":["g"])", R"("name":"p")", R"("values":["n0"])"})
    EXPECT_THAT(change.body, HasSubstr(std::string(part)));
}

}  // namespace
}  // namespace stint
