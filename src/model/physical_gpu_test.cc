#include "model/physical_gpu.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Device device(uint32_t node, std::string uuid, int index, std::optional<MigInstance> mig = {}) {
  Device d;
  d.node = NodeId(node);
  d.uuid = std::move(uuid);
  d.index = index;
  d.mig = std::move(mig);
  return d;
}

TEST(PhysicalGpus, CardAndItsInstancesAreOne) {
  const std::vector<Device> devices = {device(0, "GPU-a", 0), device(0, "GPU-a", 0, MigInstance{"1g.10gb", 7}),
                                       device(0, "MIG-x", 0, MigInstance{"1g.10gb", 8}), device(0, "GPU-b", 1)};
  const auto gpus = physical_gpus(devices);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_THAT(gpus[0].whole, ElementsAre(0));
  EXPECT_THAT(gpus[0].instances, ElementsAre(1, 2));
  EXPECT_THAT(gpus[1].whole, ElementsAre(3));
  EXPECT_EQ(gpus[1].index, 1);
}

TEST(PhysicalGpus, InstancesAloneMakeACard) {
  const std::vector<Device> devices = {device(0, "GPU-a", -1, MigInstance{"3g.40gb", 1}),
                                       device(0, "GPU-a", -1, MigInstance{"3g.40gb", 2})};
  const auto gpus = physical_gpus(devices);
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_THAT(gpus[0].whole, IsEmpty());
  EXPECT_THAT(gpus[0].instances, ElementsAre(0, 1));
}

TEST(PhysicalGpus, SameIndexOnAnotherNodeOrWithAnotherUuidIsAnotherCard) {
  const std::vector<Device> devices = {device(0, "GPU-a", 0), device(1, "GPU-c", 0), device(0, "GPU-replacement", 0)};
  EXPECT_THAT(physical_gpus(devices), SizeIs(3));
}

}  // namespace
}  // namespace stint
