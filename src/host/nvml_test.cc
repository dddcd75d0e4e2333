// The real loading path against the stand-in library (tests/fake_nvml).
#include "host/nvml.h"

#include <gmock/gmock.h>
#include <stdlib.h>

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// An environment variable for the time of a test.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Nvml, ReadsWhatEachDeviceTells) {
  auto nvml = Nvml::load(STINT_FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.error().message;
  ASSERT_THAT(nvml->gpus(), SizeIs(2));
  EXPECT_EQ(nvml->gpus()[1].uuid, "GPU-fake-1");
  EXPECT_EQ(nvml->gpus()[1].name, "NVIDIA A100-SXM4-80GB");
  const auto first = nvml->read(0);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->utilization_pct, 40);
  EXPECT_EQ(first->memory_used, Bytes::gibi(int64_t{10}));
  EXPECT_EQ(first->memory_total, Bytes::gibi(int64_t{80}));
  EXPECT_EQ(first->power_w, 250.5);
  EXPECT_EQ(first->power_limit_w, 400);
  EXPECT_EQ(first->temperature_c, 61);
  EXPECT_EQ(first->sm_clock_mhz, 1410);
  EXPECT_EQ(first->memory_clock_mhz, 1593);
}

TEST(Nvml, TellsErrorsAndWhyClocksAreLowered) {
  const Setting error("FAKE_NVML_XID", "79");
  auto nvml = Nvml::load(STINT_FAKE_NVML);
  EXPECT_EQ(nvml->read(0)->throttle_reasons, 4u);
  EXPECT_EQ(nvml->read(0)->ecc_double_bit, 2u);
  EXPECT_EQ(nvml->read(0)->encoder_pct, 7);
  EXPECT_FALSE(nvml->read(0)->decoder_pct);
  EXPECT_EQ(nvml->read(0)->xid, 0u);
  nvml->take_errors();
  EXPECT_EQ(nvml->read(0)->xid, 79u);
  nvml->take_errors();
  EXPECT_EQ(nvml->read(0)->xid, 79u) << "it stays the last one";
  EXPECT_FALSE(nvml->read(1)->xid) << "that device tells none";
}

TEST(Nvml, WhatADeviceDoesNotTellIsAbsentNotZero) {
  auto nvml = Nvml::load(STINT_FAKE_NVML);
  const auto second = nvml->read(1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->utilization_pct, 80);
  EXPECT_FALSE(second->power_w.has_value());
  EXPECT_FALSE(second->temperature_c.has_value());
}

TEST(Nvml, ListsProcessesHoweverMany) {
  const Setting many("FAKE_NVML_PROCESSES", "200");
  auto nvml = Nvml::load(STINT_FAKE_NVML);
  const auto processes = nvml->processes(0);
  ASSERT_TRUE(processes.ok()) << processes.error().message;
  ASSERT_THAT(*processes, SizeIs(200));
  EXPECT_EQ((*processes)[0].memory_used, Bytes::gibi(int64_t{3}));
  EXPECT_FALSE((*processes)[1].memory_used.has_value()) << "hidden is not zero";
  EXPECT_EQ((*processes)[199].pid, 1199);
}

TEST(Nvml, ListsThePartsOfPartitionedGpusAndWhoIsOnThem) {
  EXPECT_THAT(Nvml::load(STINT_FAKE_NVML)->mig_devices(), SizeIs(0));
  const Setting parts("FAKE_NVML_MIG", "3");
  const Setting many("FAKE_NVML_PROCESSES", "4");
  auto nvml = Nvml::load(STINT_FAKE_NVML);
  const auto devices = nvml->mig_devices();
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_EQ(devices[1].gpu, 0u);
  EXPECT_EQ(devices[1].instance, 4);
  EXPECT_EQ(devices[1].uuid, "MIG-fake-4");
  EXPECT_EQ(devices[1].profile, "2g.20gb");  // 19.5 of 80 GiB: two eighths
  EXPECT_EQ(devices[1].memory_used, Bytes::gibi(int64_t{2}));
  const auto processes = nvml->processes(0);
  EXPECT_EQ((*processes)[1].mig_instance, 4);
  EXPECT_EQ((*processes)[3].mig_instance, 3);
  EXPECT_FALSE((*nvml->processes(1))[0].mig_instance) << "a whole GPU";
}

TEST(Nvml, AbsenceSaysWhatToDo) {
  const auto absent = Nvml::load("libno-such-thing.so.1");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(absent.error().message, HasSubstr("install the NVIDIA driver"));
  const auto other = Nvml::load("libz.so.1");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("no NVML"));
}

TEST(Nvml, DriverThatIsNotLoadedAndGpuThatIsLostAreErrors) {
  {
    const Setting fail("FAKE_NVML_FAIL", "init");
    const auto nvml = Nvml::load(STINT_FAKE_NVML);
    ASSERT_FALSE(nvml.ok());
    EXPECT_THAT(nvml.error().message, HasSubstr("Driver Not Loaded"));
  }
  auto nvml = Nvml::load(STINT_FAKE_NVML);
  ASSERT_TRUE(nvml.ok());
  const Setting fail("FAKE_NVML_FAIL", "lost");
  const auto reading = nvml->read(0);
  ASSERT_FALSE(reading.ok());
  EXPECT_THAT(reading.error().message, HasSubstr("fell off the bus"));
}

TEST(Nvml, AMachineWithoutGpusHasNone) {
  const Setting none("FAKE_NVML_GPUS", "0");
  auto nvml = Nvml::load(STINT_FAKE_NVML);
  ASSERT_TRUE(nvml.ok());
  EXPECT_THAT(nvml->gpus(), SizeIs(0));
}

}  // namespace
}  // namespace stint
