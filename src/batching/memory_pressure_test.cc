#include "batching/memory_pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint::batching {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

Bytes mebi(int64_t n) { return Bytes::mebi(n); }

std::vector<std::string> words(const std::vector<ReliefStep>& steps) {
  std::vector<std::string> all;
  for (const ReliefStep& step : steps)
    all.push_back(describe(step, std::to_string(step.model.index())));
  return all;
}

class MemoryPressure : public ::testing::Test {
 protected:
  MemoryPressure() {
    for (int64_t n = 1; n <= 16; ++n)
      activation_.push_back(mebi(10 * n));
    // Two models of 300 MiB with arenas of 160 and 80.
    models_ = {{ModelId(0), mebi(300), mebi(160), Bytes(), activation_, 16},
               {ModelId(1), mebi(300), mebi(80), Bytes(), activation_, 8}};
    models_[0].worth = 5;
    models_[1].worth = 3;
    options_.device = mebi(1000);
  }
  [[nodiscard]] std::vector<std::string> relief(int64_t used_mebi) const {
    return words(plan_relief(options_, mebi(used_mebi), models_));
  }
  std::vector<Bytes> activation_;
  std::vector<PressureModel> models_;
  PressureOptions options_;
};

TEST_F(MemoryPressure, NothingBelowTheHighMark) { EXPECT_THAT(relief(899), IsEmpty()); }

TEST_F(MemoryPressure, ClimbsNoFurtherThanNeeded) {
  // 905 − 850 = 55 to free: the larger arena halves and gives 80.
  EXPECT_THAT(relief(905), ElementsAre("model 0: batches of at most 8 (frees 80 MiB)"));
  // 105 to free: both halve, 80 + 40.
  EXPECT_THAT(relief(955),
              ElementsAre("model 0: batches of at most 8 (frees 80 MiB)", "model 1: batches of at most 4 (frees 40 MiB)"));
  // 150 to free: and then the first arena, from 80 down to a batch of one.
  EXPECT_THAT(relief(1000),
              ElementsAre("model 0: batches of at most 8 (frees 80 MiB)", "model 1: batches of at most 4 (frees 40 MiB)",
                          "model 0: trim the arena (frees 70 MiB)"));
}

TEST_F(MemoryPressure, OfEqualWorthsTheOneNotAskedForTheLongestGoes) {
  for (PressureModel& m : models_)
    m.arena = mebi(10), m.max_batch = 1, m.worth = 0, m.last_request = Instant::from_seconds(1000);
  models_[0].last_request = Instant::from_seconds(2000);
  EXPECT_THAT(relief(950), ElementsAre("model 1: unload (frees 310 MiB)"));
  models_[1].last_request = Instant::from_seconds(3000);
  EXPECT_THAT(relief(950), ElementsAre("model 0: unload (frees 310 MiB)"));
}

TEST_F(MemoryPressure, WeightsGoByWorthAndOnlyOfIdleModels) {
  for (PressureModel& m : models_)
    m.arena = mebi(10), m.max_batch = 1;
  models_[1].small_variant = mebi(75);
  EXPECT_THAT(relief(950), ElementsAre("model 1: swap in the smaller variant (frees 225 MiB)"));
  models_[1].small_variant.reset();
  EXPECT_THAT(relief(950), ElementsAre("model 1: unload (frees 310 MiB)"));
  options_.host_room = mebi(400);
  EXPECT_THAT(relief(950), ElementsAre("model 1: unload (frees 310 MiB)")) << "it cannot run there";
  models_[0].host = mebi(400);
  models_[1].host = mebi(401);
  EXPECT_THAT(relief(950), ElementsAre("model 0: to the host (frees 310 MiB)")) << "the other takes too much there";
  models_[1].host = mebi(400);
  EXPECT_THAT(relief(950), ElementsAre("model 1: to the host (frees 310 MiB)"));
  EXPECT_THAT(plan_relief(options_, mebi(1400), models_), ElementsAre(Field(&ReliefStep::kind, ReliefStep::Kind::kToHost),
                                                                      Field(&ReliefStep::kind, ReliefStep::Kind::kUnload)))
      << "there is room for one";
  models_[1].in_flight = 1;
  EXPECT_THAT(relief(950), ElementsAre("model 0: to the host (frees 310 MiB)"));
  models_[0].pinned = true;
  EXPECT_THAT(relief(950), ElementsAre("refuse new work: nothing more can be given up"));
}

TEST_F(MemoryPressure, WhatRunsKeepsItsMemory) {
  models_[0].running = mebi(150);
  models_[1].running = mebi(80);
  EXPECT_THAT(plan_relief(options_, mebi(905), models_).front().frees, mebi(10));
}

LeakDetector detector() { return LeakDetector({Duration::minutes(10), 4, mebi(30)}); }

std::vector<int64_t> leaks(LeakDetector d, const std::vector<int64_t>& least_mebi, Duration step = Duration::minutes(10)) {
  std::vector<int64_t> grown;
  Instant now = Instant::from_seconds(6000);
  for (const int64_t least : least_mebi) {
    // A busy moment in each window stands 500 MiB above its least.
    for (const int64_t excess : {least + 500, least})
      if (const auto leak = d.observe(now + Duration::seconds(excess % 2), mebi(excess + 700), mebi(700)))
        grown.push_back(leak->grown.count() >> 20);
    now = now + step;
  }
  return grown;
}

TEST(LeakDetector, SteadyGrowthIsALeak) { EXPECT_THAT(leaks(detector(), {0, 11, 22, 33, 44}), ElementsAre(33)); }
TEST(LeakDetector, OneStepUpIsACache) { EXPECT_THAT(leaks(detector(), {0, 0, 100, 100, 100, 100, 100}), IsEmpty()); }
TEST(LeakDetector, LittleGrowthIsNoise) { EXPECT_THAT(leaks(detector(), {0, 1, 2, 3, 4, 5, 6}), IsEmpty()); }
TEST(LeakDetector, GapsBreakTheRow) { EXPECT_THAT(leaks(detector(), {0, 11, 22, 33, 44, 55}, Duration::minutes(20)), IsEmpty()); }

}  // namespace
}  // namespace stint::batching
