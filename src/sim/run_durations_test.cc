#include "sim/run_durations.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stint::sim {
namespace {

constexpr int64_t kHourS = 3600;
using Runs = std::vector<Run>;  // tests have a function Run

Run run_of(std::string user, std::string name, double hours, RunState state) {
  Run run;
  run.name = std::move(name);
  run.holder.user = std::move(user);
  run.holder.account = "vision/train";
  run.state = state;
  run.started = Instant::from_seconds(0);
  run.ended = Instant::from_seconds(static_cast<int64_t>(hours * kHourS));
  run.gpus_requested = 2;
  return run;
}

TEST(RunDurations, AHistoryTellsHowLongJobsOfAUserAndNameRun) {
  Runs runs;
  for (int i = 0; i < 20; ++i) {
    runs.push_back(run_of("ann", "train-" + std::to_string(i), 8, RunState::kCompleted));
    runs.push_back(run_of("ann", "eval", 0.5, RunState::kCompleted));
  }
  const sched::DurationBook book = durations_of(lengths_of(runs, Instant::from_seconds(10 * kHourS)));
  const auto train = book.forecast(sched::kin_of("vision/ann", "train-77"), 2000);
  ASSERT_TRUE(train);
  EXPECT_EQ(train->like(), 20);
  EXPECT_NEAR(train->quantile(500).to_hours(), 8, 2);
  EXPECT_NEAR(book.forecast(sched::kin_of("vision/ann", "eval"), 2000)->quantile(500).to_hours(), 0.5, 0.15);
}

TEST(RunDurations, WhatStillRunsTookAtLeastSoLongAndServicesSayNothing) {
  Runs runs;
  for (int i = 0; i < 10; ++i)
    runs.push_back(run_of("ann", "train", 8, RunState::kCompleted));
  for (int i = 0; i < 10; ++i) {
    runs.push_back(run_of("ann", "train", 1, RunState::kRunning));
    runs.back().ended.reset();
  }
  runs.push_back(run_of("ann", "chat", 500, RunState::kCompleted));
  runs.back().kind = WorkloadKind::kRealtimeInference;
  runs.push_back(run_of("ann", "train", 8, RunState::kPending));
  runs.back().started.reset();
  const sched::DurationBook book = durations_of(lengths_of(runs, Instant::from_seconds(kHourS)));
  EXPECT_EQ(book.learnt(), 20);
  EXPECT_NEAR(book.forecast(sched::kin_of("vision/ann", "train"), 2000)->quantile(500).to_hours(), 8, 2.5);
}

}  // namespace
}  // namespace stint::sim
