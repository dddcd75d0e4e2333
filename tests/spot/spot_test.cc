// Spot policies on the public traces: the means that the published simulator's inputs give, and the bounds our own keeps.
#include <gtest/gtest.h>

#include <filesystem>

#include "codec/traces/spot_trace.h"
#include "host/file.h"
#include "sched/spot/spot_stint_policy.h"
#include "sim/spot_optimum.h"
#include "sim/spot_replay.h"
#include "tests/needs_shared.h"

namespace stint {
namespace {

const std::string kFolder = std::string(STINT_SHARED_DIR) + "/data/spot-cantbelate/";
const sim::SpotPrices kPrices = {Rate::per_hour(Money::nanos(3'060'000'000)), Rate::per_hour(Money::nanos(973'100'000))};

sched::SpotTask task_of(double deadline_h, double changeover_h) {
  return {.tick_s = 600,
          .work_s = 48 * 3600,
          .deadline_s = static_cast<int64_t>(deadline_h * 3600),
          .changeover_s = static_cast<int64_t>(changeover_h * 3600 + 0.5)};
}

struct Mean {
  double cost_ratio = 0;
  int64_t missed = 0;
};

class SpotOnPublicTraces : public testing::Test {
 protected:
  void SetUp() override {
    STINT_NEEDS_SHARED(kFolder);
    for (const auto& entry : std::filesystem::directory_iterator(kFolder + "availability/1-node/aws-10-26-2022")) {
      auto trace = read_spot_trace(read_all(entry.path().string()).value(), entry.path().string());
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      traces_.push_back(std::move(trace).value());
    }
    auto windows = read_spot_windows(read_all(kFolder + "windows_task48h_overhead0.20h.csv.gz").value(), traces_, "windows");
    ASSERT_TRUE(windows.ok()) << windows.error().message;
    windows_ = std::move(windows).value();
    ASSERT_EQ(windows_.size(), 2400U);
  }

  /// @param run  SpotRun of a window.
  template <typename Run>
  Mean mean_of(const sched::SpotTask& task, Run&& run) const {
    Mean mean;
    for (const SpotWindow& w : windows_) {
      const sim::SpotRun one = run(std::span(traces_[w.trace].available).subspan(w.start_tick, w.length_ticks));
      mean.cost_ratio += sim::cost_ratio(one, task, kPrices) / static_cast<double>(windows_.size());
      mean.missed += one.missed ? 1 : 0;
    }
    return mean;
  }

  template <typename Policy>
  Mean mean_with(const sched::SpotTask& task, Policy policy) const {
    return mean_of(task, [&](std::span<const uint8_t> available) { return sim::replay_spot(task, available, policy); });
  }

  std::vector<SpotTrace> traces_;
  std::vector<SpotWindow> windows_;
};

TEST_F(SpotOnPublicTraces, GreedyAndUniformProgressCostWhatIsPublished) {
  const sched::SpotTask task = task_of(60, 0.2);
  const Mean greedy = mean_with(task, sched::GreedySpot(task));
  EXPECT_NEAR(greedy.cost_ratio, 0.7898, 1e-4);
  EXPECT_EQ(greedy.missed, 0);
  const Mean uniform = mean_with(task, sched::UniformProgressSpot(task));
  EXPECT_NEAR(uniform.cost_ratio, 0.7279, 1e-4);
  EXPECT_EQ(uniform.missed, 0);
}

TEST_F(SpotOnPublicTraces, TheOptimumCostsWhatIsPublished) {
  const sched::SpotTask task = task_of(60, 0.2);
  auto optimum = sim::SpotOptimum::create(task, kPrices);
  ASSERT_TRUE(optimum.ok()) << optimum.error().message;
  EXPECT_NEAR(mean_of(task, [&](std::span<const uint8_t> there) { return optimum->solve(there); }).cost_ratio, 0.6534, 1e-4);
}

class SpotByDeadline : public SpotOnPublicTraces, public testing::WithParamInterface<int> {};

TEST_P(SpotByDeadline, OursCostsLessThanBoth) {
  for (const double changeover_h : {0.05, 0.2, 0.5}) {
    const sched::SpotTask task = task_of(GetParam(), changeover_h);
    const double greedy = mean_with(task, sched::GreedySpot(task)).cost_ratio;
    const double uniform = mean_with(task, sched::UniformProgressSpot(task)).cost_ratio;
    const Mean ours = mean_with(task, sched::StintSpot(task, 0.9731 / 3.06));
    EXPECT_LE(ours.cost_ratio, std::min(greedy, uniform) + 0.005) << "changeover " << changeover_h << " h";
    EXPECT_EQ(ours.missed, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Hours, SpotByDeadline, testing::Values(52, 60, 70, 92), testing::PrintToStringParamName());

TEST_F(SpotOnPublicTraces, OursCostsAtMostWhatWasPromised) {
  const sched::SpotTask task = task_of(60, 0.2);
  EXPECT_LE(mean_with(task, sched::StintSpot(task, 0.9731 / 3.06)).cost_ratio, 0.715);
}

}  // namespace
}  // namespace stint
