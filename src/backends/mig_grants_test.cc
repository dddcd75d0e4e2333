// Against the stand-in library (tests/fake_nvml): GPU 0 with three parts of 2g.20gb.
#include "backends/mig_grants.h"

#include <gmock/gmock.h>
#include <stdlib.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

class MigGrants : public ::testing::Test {
 protected:
  MigGrants() { setenv("FAKE_NVML_MIG", "3", 1); }
  ~MigGrants() override { unsetenv("FAKE_NVML_MIG"); }
  static std::vector<GrantedGpu> part_of(int index, const std::string& profile) {
    return {{.index = index, .uuid = "", .mig_uuid = profile}};
  }
};

TEST_F(MigGrants, EachTaskGetsADeviceOfItsOwn) {
  std::set<std::string> taken;
  for (const char* uuid : {"MIG-fake-3", "MIG-fake-4", "MIG-fake-5"}) {
    auto gpus = part_of(0, "2g.20gb");
    ASSERT_TRUE(grant_mig_devices(gpus, taken, STINT_FAKE_NVML).ok());
    EXPECT_EQ(gpus[0].mig_uuid, uuid);
    taken.insert(gpus[0].mig_uuid);
  }
  auto fourth = part_of(0, "2g.20gb");
  const Status none = grant_mig_devices(fourth, taken, STINT_FAKE_NVML);
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable) << "it may be tried again";
  EXPECT_THAT(none.error().message, HasSubstr("no free MIG device 2g.20gb (3 in all)"));
}

TEST_F(MigGrants, WhatTheGpuIsNotPartitionedIntoIsRefused) {
  auto other = part_of(0, "7g.80gb"), whole = part_of(1, "2g.20gb");
  EXPECT_FALSE(grant_mig_devices(other, {}, STINT_FAKE_NVML).ok());
  EXPECT_FALSE(grant_mig_devices(whole, {}, STINT_FAKE_NVML).ok());
}

TEST_F(MigGrants, WhereTheGpuDoesNotMatterAnyDeviceOfTheProfileWillDo) {
  auto any = part_of(kAnyGpu, "2g.20gb");
  ASSERT_TRUE(grant_mig_devices(any, {"MIG-fake-3"}, STINT_FAKE_NVML).ok());
  EXPECT_EQ(any[0].mig_uuid, "MIG-fake-4");
  EXPECT_EQ(any[0].index, 0);
}

TEST_F(MigGrants, WholeGpusNeedNoLibrary) {
  auto gpus = part_of(0, "");
  EXPECT_TRUE(grant_mig_devices(gpus, {}, "libno-such-thing.so").ok());
  auto part = part_of(0, "2g.20gb");
  EXPECT_THAT(grant_mig_devices(part, {}, "libno-such-thing.so").error().message, HasSubstr("NVML"));
}

}  // namespace
}  // namespace stint
