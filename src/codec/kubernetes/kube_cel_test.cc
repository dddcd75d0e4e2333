// Conditions on devices: what is understood holds as in CEL, what is not is named.
#include "codec/kubernetes/kube_cel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/kubernetes/kubernetes_placing.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

KubeDevice h100() {
  return {.name = "gpu-0",
          .attributes = {{"gpu.nvidia.com/type", "gpu"},
                         {"gpu.nvidia.com/productName", "NVIDIA H100 80GB HBM3"},
                         {"gpu.nvidia.com/index", int64_t{3}},
                         {"gpu.nvidia.com/nvlink", true},
                         {"gpu.nvidia.com/driverVersion", KubeVersion{{550, 54, 14}}}},
          .capacity = {{"gpu.nvidia.com/memory", (int64_t{80} << 30) * 1000}},
          .why_not = {}};
}

bool holds(std::string_view text) {
  const auto condition = KubeCondition::parse(text);
  EXPECT_TRUE(condition.ok()) << text << ": " << (condition.ok() ? "" : condition.error().message);
  return condition.ok() && condition->holds(h100(), "gpu.nvidia.com");
}

TEST(KubeCondition, ComparesWhatADeviceHas) {
  EXPECT_TRUE(holds(R"(device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == 'gpu')"));
  EXPECT_FALSE(holds(R"(device.driver != "gpu.nvidia.com")"));
  EXPECT_TRUE(holds(R"(device.attributes["gpu.nvidia.com"]["productName"].lowerAscii().contains("h100"))"));
  EXPECT_TRUE(holds(R"(device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA") || false)"));
  EXPECT_TRUE(holds(R"(device.attributes["gpu.nvidia.com"].index < 4 && device.attributes["gpu.nvidia.com"].index >= 3)"));
  EXPECT_TRUE(holds(R"(device.attributes["gpu.nvidia.com"].nvlink)"));
  EXPECT_FALSE(holds(R"(!device.attributes["gpu.nvidia.com"].nvlink)"));
  EXPECT_TRUE(holds(R"(device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0)"));
  EXPECT_FALSE(holds(R"(device.capacity["gpu.nvidia.com"].memory.isLessThan(quantity("80Gi")))"));
  EXPECT_TRUE(holds(R"(device.attributes["gpu.nvidia.com"].driverVersion.isGreaterThan(semver("535.0.0")))"));
  EXPECT_TRUE(holds(R"(device.attributes["gpu.nvidia.com"].type in ["mig", "gpu"])"));
}

TEST(KubeCondition, PatternsAreThoseThatAreUsed) {
  const auto product = [](std::string_view pattern) {
    return holds(fmt::format(R"(device.attributes["gpu.nvidia.com"].productName.matches("{}"))", pattern));
  };
  EXPECT_TRUE(product("H100"));
  EXPECT_TRUE(product("^NVIDIA.*HBM3$"));
  EXPECT_TRUE(product("^.*H.00.*$"));
  EXPECT_FALSE(product("^H100"));
  EXPECT_FALSE(product("HBM$"));
  for (const std::string_view beyond : {"H(1|2)00", "H[12]00", "H1+", "a|b", "H1?"})
    EXPECT_FALSE(KubeCondition::parse(fmt::format(R"(device.driver.matches("{}"))", beyond)).ok()) << beyond;
}

TEST(KubeCondition, WhatIsMissingDoesNotHoldUnlessTheOtherSideDecides) {
  EXPECT_FALSE(holds(R"(device.attributes["gpu.nvidia.com"].absent == "x")"));
  EXPECT_FALSE(holds(R"(device.attributes["gpu.nvidia.com"].absent != "x")")) << "an error is no difference";
  EXPECT_FALSE(holds(R"(!(device.attributes["gpu.nvidia.com"].absent == "x"))"));
  EXPECT_TRUE(holds(R"(device.attributes["gpu.nvidia.com"].absent == "x" || device.driver == "gpu.nvidia.com")"));
  EXPECT_TRUE(holds(R"(!(device.attributes["gpu.nvidia.com"].absent == "x" && false))"));
  EXPECT_FALSE(holds(R"(has(device.attributes["gpu.nvidia.com"].absent))"));
  EXPECT_TRUE(holds(R"(has(device.attributes["gpu.nvidia.com"].index) && !has(device.capacity["gpu.nvidia.com"].disk))"));
}

TEST(KubeCondition, NamesWhatIsNotUnderstood) {
  const auto error = [](std::string_view text) {
    const auto condition = KubeCondition::parse(text);
    return condition.ok() ? "" : condition.error().message;
  };
  EXPECT_THAT(error("cel.bind(a, device.driver, a == 'x')"), HasSubstr("cel.bind"));
  EXPECT_THAT(error("device.driver == "), HasSubstr("not understood"));
  EXPECT_THAT(error("device.driver.size() > 3"), HasSubstr("size(…)"));
  EXPECT_THAT(error("device.driver == 'x"), HasSubstr("not understood"));
  EXPECT_THAT(error(std::string(200, '(') + "true"), HasSubstr("not understood"));
  EXPECT_THAT(error(std::string(200, '!') + "true"), HasSubstr("not understood"));
  EXPECT_THAT(error(std::string(20'000, ' ')), HasSubstr("more than"));
}

TEST(KubernetesDevices, AreReadAsTheApiHasThem) {
  KubePlacingDecoder decoder;
  const auto slice = decoder.decode(
      R"({"kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"gpu.nvidia.com","nodeName":"n0","pool":{"name":"n0",)"
      R"("generation":2,"resourceSliceCount":1},"devices":[{"name":"gpu-0","attributes":{"type":{"string":"gpu"},"other.example/x":{"int":7},)"
      R"("v":{"version":"1.2.3"},"on":{"bool":false}},"capacity":{"memory":{"value":"80Gi"}}},{"name":"mig-0","consumesCounters":[{}]},)"
      R"({"name":"bad","taints":[{"key":"dead","effect":"NoSchedule"}]}]}})",
      "ResourceSlice");
  ASSERT_TRUE(slice.ok()) << slice.error().message;
  const auto& devices = std::get<KubeDeviceSlice>(*slice).devices;
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_EQ(std::get<std::string>(devices[0].attributes.at("gpu.nvidia.com/type")), "gpu");
  EXPECT_EQ(std::get<int64_t>(devices[0].attributes.at("other.example/x")), 7);
  EXPECT_EQ(std::get<KubeVersion>(devices[0].attributes.at("gpu.nvidia.com/v")), (KubeVersion{{1, 2, 3}}));
  EXPECT_FALSE(std::get<bool>(devices[0].attributes.at("gpu.nvidia.com/on")));
  EXPECT_EQ(devices[0].capacity.at("gpu.nvidia.com/memory"), (int64_t{80} << 30) * 1000);
  EXPECT_THAT(devices[1].why_not, HasSubstr("part of another"));
  EXPECT_THAT(devices[2].why_not, HasSubstr("dead"));
  const auto claim = decoder.decode(
      R"({"metadata":{"name":"c","namespace":"a","resourceVersion":"5","finalizers":["resource.kubernetes.io/delete-protection"]},)"
      R"("spec":{"devices":{"requests":[{"name":"g","exactly":{"deviceClassName":"gpu","count":2}}],"constraints":[{"matchAttribute":"a/b"}],)"
      R"("config":[{"opaque":{"driver":"d","parameters":{}}}]}},"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u"}],)"
      R"("allocation":{"devices":{"results":[{"request":"g","driver":"d","pool":"n0","device":"gpu-0"}]},"nodeSelector":{"nodeSelectorTerms":)"
      R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n0"]}]}]}}}})",
      "ResourceClaim");
  ASSERT_TRUE(claim.ok()) << claim.error().message;
  const auto& read = std::get<KubeDeviceClaim>(*claim);
  EXPECT_TRUE(read.is_kept);
  EXPECT_TRUE(read.is_allocated);
  EXPECT_EQ(read.requests.at(0).count, 2);
  EXPECT_EQ(read.rules.at(0).attribute, "a/b");
  EXPECT_THAT(read.reserved_for, ElementsAre("u"));
  EXPECT_EQ(read.allocated.at(0).device, (KubeDeviceName{"d", "n0", "gpu-0"}));
  EXPECT_THAT(read.nodes, SizeIs(1));
  EXPECT_THAT(read.not_understood, IsEmpty());
  const auto beyond = decoder.decode(
      R"({"metadata":{"name":"c","namespace":"a"},"spec":{"devices":{"requests":[{"name":"g","firstAvailable":[{}]}]}}})",
      "ResourceClaim");
  EXPECT_THAT(std::get<KubeDeviceClaim>(*beyond).not_understood, HasSubstr("firstAvailable"));
}

}  // namespace
}  // namespace stint
