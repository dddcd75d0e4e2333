#include "daemon/live/foreign_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Instant at(int64_t seconds) { return Instant::from_seconds(1'800'000'000 + seconds); }

LiveProcess process(int64_t pid, std::string account, int64_t job = 0) {
  return {.pid = pid, .command = "python", .memory_used = {}, .job = job, .account = std::move(account)};
}

LiveGpu gpu(Instant seen, std::vector<LiveProcess> processes, int index = 0) {
  LiveGpu gpu;
  gpu.device.node = "n0";
  gpu.device.index = index;
  gpu.processes_seen = seen;
  gpu.processes = std::move(processes);
  return gpu;
}

LiveSnapshot seen(std::vector<LiveGpu> gpus) {
  LiveSnapshot snapshot;
  snapshot.gpus = std::move(gpus);
  return snapshot;
}

TEST(ForeignUse, IsChargedFromTheFirstSightToTheLastUnderOneId) {
  ForeignUse use;
  use.look(seen({gpu(at(0), {process(7, "root")})}));
  EXPECT_THAT(use.take(), IsEmpty()) << "no time is known yet";
  use.look(seen({gpu(at(30), {process(7, "root"), process(8, "root")})}));
  const auto first = use.take();
  ASSERT_THAT(first, SizeIs(1)) << "one holding, however many processes";
  EXPECT_EQ(first[0].holder.user, "root");
  EXPECT_EQ(first[0].started, at(0));
  EXPECT_EQ(first[0].ended, at(30));
  EXPECT_THAT(use.take(), IsEmpty()) << "nothing new";
  use.look(seen({gpu(at(60), {process(8, "root")})}));
  const auto second = use.take();
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].id, first[0].id);
  EXPECT_EQ(second[0].started, at(0));
  EXPECT_EQ(second[0].ended, at(60));
}

TEST(ForeignUse, AfterAGapItIsAnotherRunAndTheGapIsNotCharged) {
  ForeignUse use;
  for (const int64_t second : {0, 60, 600, 660})
    use.look(seen({gpu(at(second), {process(7, "root")})}));
  const auto runs = use.take();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].ended, at(60));
  EXPECT_EQ(runs[1].started, at(600));
  EXPECT_NE(runs[0].id, runs[1].id);
}

TEST(ForeignUse, AJobsProcessCountsOnlyWhereTheJobHoldsNothing) {
  ForeignUse use;
  const auto look = [&](int64_t second) {
    LiveGpu held = gpu(at(second), {process(7, "acme/anna", 3)});
    held.holders.push_back({.job = 3, .array_index = {}, .name = {}, .queue = {}, .client = {}, .user = {}, .since = {}});
    use.look(seen({held, gpu(at(second), {process(7, "acme/anna", 3)}, 1)}));
  };
  look(0);
  look(30);
  const auto runs = use.take();
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].tenant.client, "acme");
  EXPECT_EQ(runs[0].holder.user, "anna");
  ASSERT_THAT(runs[0].allocations, SizeIs(1));
  EXPECT_EQ(runs[0].allocations[0].gpu_indexes, std::vector<int>{1});
}

TEST(ForeignUse, OnAMigDeviceItIsThatPartOfTheGpu) {
  ForeignUse use;
  for (const int64_t second : {0, 30}) {
    LiveGpu part = gpu(at(second), {process(7, "root")});
    part.device.mig_instance = 5;
    part.device.mig_profile = "2g.20gb";
    use.look(seen({gpu(at(second), {process(7, "root")}), part}));
  }
  const auto runs = use.take();
  ASSERT_THAT(runs, SizeIs(1)) << "the whole GPU tells the same process";
  EXPECT_EQ(runs[0].share, GpuShare::milli(285)) << "two of seven slices";
}

TEST(ForeignUse, WhatCouldNotBeWrittenIsToldAgain) {
  ForeignUse use;
  use.look(seen({gpu(at(0), {process(7, "")})}));
  use.look(seen({gpu(at(30), {process(7, "")})}));
  use.put_back(use.take());
  use.look(seen({gpu(at(600), {})}));
  const auto runs = use.take();
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].holder.user, "unknown");
}

}  // namespace
}  // namespace stint
