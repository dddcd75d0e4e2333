#include "sim/packing_replay.h"

#include <gtest/gtest.h>

namespace stint::sim {
namespace {

PodTraceNode node(std::string name, int32_t gpus, std::string model) {
  return {.name = std::move(name),
          .cpu_milli = 64'000,
          .memory = Bytes::gibi(int64_t{64}),
          .gpus = gpus,
          .gpu_model = std::move(model)};
}

PodTracePod pod(int32_t gpus, int32_t milli, std::vector<std::string> models = {}) {
  return {.name = "",
          .cpu_milli = 1'000,
          .memory = Bytes::gibi(int64_t{1}),
          .gpus = gpus,
          .gpu_milli = milli,
          .gpu_models = std::move(models)};
}

TEST(PackingReplay, DropsWhatFitsNowhereAndGoesOn) {
  const std::vector<PodTracePod> pods = {pod(2, 1000), pod(1, 500), pod(1, 1000, {"B"}), pod(1, 1000, {"C"})};
  const auto trace = PackingTrace::create({node("a", 2, "A"), node("b", 1, "B")}, pods);
  ASSERT_TRUE(trace.ok());
  // Two GPUs on a; half of b's; b has no whole GPU left; no user has C; the other half of b's.
  const std::vector<uint32_t> arrivals = {0, 1, 2, 3, 1};
  const PackingResult result = replay_packing(*trace, arrivals, sched::Placement::kFirstFit, 1);
  EXPECT_EQ(result.pods, 5);
  EXPECT_EQ(result.placed, 3);
  EXPECT_EQ(result.failed, 2);
  EXPECT_EQ(result.fragmentation_pct_of_idle, 0);  // nothing is idle
}

TEST(PackingReplay, AllocationIsReadWhereDemandRoundsToTheLevel) {
  // 10 GPUs, a pod is 5 % of them: at 100 % of demand all is placed, and so it stays.
  const std::vector<PodTracePod> pods = {pod(1, 500)};
  const auto trace = PackingTrace::create({node("a", 10, "A")}, pods);
  ASSERT_TRUE(trace.ok());
  const PackingResult half = replay_packing(*trace, std::vector<uint32_t>(10, 0), sched::Placement::kBestFit, 1);
  EXPECT_FALSE(half.allocated_pct_100);
  const PackingResult full = replay_packing(*trace, std::vector<uint32_t>(26, 0), sched::Placement::kBestFit, 1);
  EXPECT_DOUBLE_EQ(full.allocated_pct_100.value(), 100);
  EXPECT_DOUBLE_EQ(full.allocated_pct_130.value(), 100);
  EXPECT_EQ(full.placed, 20);
}

TEST(PackingReplay, TiesGoToTheFirstName) {
  const std::vector<PodTracePod> pods = {pod(1, 1000), pod(1, 1000, {"B"})};
  const auto trace = PackingTrace::create({node("b", 1, "B"), node("a", 1, "A")}, pods);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(replay_packing(*trace, std::vector<uint32_t>{0, 1}, sched::Placement::kFirstFit, 1).placed, 2);
}

TEST(PackingReplay, RefusesAFleetWithoutGpus) {
  EXPECT_FALSE(PackingTrace::create({node("a", 0, "")}, std::vector<PodTracePod>{}).ok());
}

}  // namespace
}  // namespace stint::sim
