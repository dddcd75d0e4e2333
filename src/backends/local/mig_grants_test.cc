// Against the stand-in library (tests/fake_nvml): GPU 0 with three parts of 2g.20gb.
#include "backends/local/mig_grants.h"

#include <gmock/gmock.h>
#include <stdlib.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

const GpuClearCheck::Options kFake = {.nvml_library = STINT_FAKE_NVML};

class MigGrants : public ::testing::Test {
 protected:
  MigGrants() {
    setenv("FAKE_NVML_MIG", "3", 1);
    setenv("FAKE_NVML_MIG_USED", "0", 1);
  }
  ~MigGrants() override {
    unsetenv("FAKE_NVML_MIG");
    unsetenv("FAKE_NVML_MIG_USED");
  }
  static std::vector<GrantedGpu> part_of(int index, const std::string& profile) {
    return {{.index = index, .uuid = "", .mig_uuid = profile}};
  }
};

TEST_F(MigGrants, EachTaskGetsADeviceOfItsOwn) {
  std::set<std::string> taken;
  for (const char* uuid : {"MIG-fake-3", "MIG-fake-4", "MIG-fake-5"}) {
    auto gpus = part_of(0, "2g.20gb");
    ASSERT_TRUE(grant_mig_devices(gpus, taken, kFake).ok());
    EXPECT_EQ(gpus[0].mig_uuid, uuid);
    taken.insert(gpus[0].mig_uuid);
  }
  auto fourth = part_of(0, "2g.20gb");
  const Status none = grant_mig_devices(fourth, taken, kFake);
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable) << "it may be tried again";
  EXPECT_THAT(none.error().message, HasSubstr("no free MIG device 2g.20gb (3 in all)"));
}

TEST_F(MigGrants, ATaskThatAsksForSeveralGetsDifferentOnes) {
  std::vector<GrantedGpu> gpus(2, {.index = kAnyGpu, .uuid = "", .mig_uuid = "2g.20gb"});
  ASSERT_TRUE(grant_mig_devices(gpus, {"MIG-fake-4"}, kFake).ok());
  EXPECT_EQ(gpus[0].mig_uuid, "MIG-fake-3");
  EXPECT_EQ(gpus[1].mig_uuid, "MIG-fake-5");
  EXPECT_EQ(gpus[1].index, 0);
  std::vector<GrantedGpu> more(2, {.index = kAnyGpu, .uuid = "", .mig_uuid = "2g.20gb"});
  EXPECT_FALSE(grant_mig_devices(more, {"MIG-fake-3", "MIG-fake-4"}, kFake).ok());
}

TEST_F(MigGrants, WhatTheGpuIsNotPartitionedIntoIsRefused) {
  auto other = part_of(0, "7g.80gb"), whole = part_of(1, "2g.20gb");
  EXPECT_FALSE(grant_mig_devices(other, {}, kFake).ok());
  EXPECT_FALSE(grant_mig_devices(whole, {}, kFake).ok());
}

TEST_F(MigGrants, WhereTheGpuDoesNotMatterAnyDeviceOfTheProfileWillDo) {
  auto any = part_of(kAnyGpu, "2g.20gb");
  ASSERT_TRUE(grant_mig_devices(any, {"MIG-fake-3"}, kFake).ok());
  EXPECT_EQ(any[0].mig_uuid, "MIG-fake-4");
  EXPECT_EQ(any[0].index, 0);
}

TEST_F(MigGrants, ADeviceThatIsNotClearIsNotGiven) {
  setenv("FAKE_NVML_MIG_USED", "1", 1);
  auto part = part_of(0, "2g.20gb");
  ASSERT_TRUE(grant_mig_devices(part, {}, kFake).ok());
  EXPECT_EQ(part[0].mig_uuid, "MIG-fake-4");
  auto other = part_of(0, "2g.20gb");
  const Status left = grant_mig_devices(other, {"MIG-fake-4", "MIG-fake-5"}, kFake);
  EXPECT_EQ(left.error().code, ErrorCode::kUnavailable) << "it may be tried again";
  EXPECT_THAT(left.error().message, HasSubstr("MIG device MIG-fake-3 of GPU 0: is not clear: 2147483648 bytes"));
}

TEST_F(MigGrants, WholeGpusNeedNoLibrary) {
  auto gpus = part_of(0, "");
  EXPECT_TRUE(grant_mig_devices(gpus, {}, {.nvml_library = "libno-such-thing.so"}).ok());
  auto part = part_of(0, "2g.20gb");
  EXPECT_THAT(grant_mig_devices(part, {}, {.nvml_library = "libno-such-thing.so"}).error().message, HasSubstr("NVML"));
}

}  // namespace
}  // namespace stint
