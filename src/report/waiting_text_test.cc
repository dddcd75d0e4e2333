#include "report/waiting_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/waiting_line.h"

namespace stint {
namespace {

using testing::HasSubstr;

sim::Workload workload() {
  sim::Workload w;
  w.queues.push_back({.name = "research"});
  w.nodes.emplace_back();
  w.nodes[0].node.name = "box";
  for (const char* name : {"train", "tune"}) {
    w.jobs.emplace_back();
    w.jobs.back().name = name;
  }
  return w;
}

const sim::Workload kWorkload = workload();
const WaitingNames names = names_in(kWorkload);

TEST(WaitingText, ASpentBudgetIsNamedWithItsFigures) {
  sched::Explanation e;
  e.standing = sched::Standing::kWaiting;
  e.obstacle = sched::Obstacle::kBudget;
  e.budget = sched::BudgetStanding{.queue = sched::QueueId(0),
                                   .budget = Money::units(100),
                                   .spent = Money::units(104),
                                   .burn = Rate::per_hour(Money::units(8)),
                                   .runs_out_at = Instant::from_seconds(0),
                                   .renewed_at = Instant::from_seconds(86'400)};
  e.remedies.push_back({.kind = sched::RemedyKind::kRaiseBudget, .cost = Money::units(4)});
  const std::string text = waiting_text(e, names, sched::JobId(1), Instant::from_seconds(0));
  EXPECT_THAT(text, HasSubstr("Job tune at 1970-01-01 00:00:00 UTC: waits: queue research has spent 104.00 USD of its budget of "
                              "100.00 USD, burns 8.00 USD an hour now, and gets a new one at 1970-01-02 00:00:00 UTC"));
  EXPECT_THAT(text, HasSubstr("raised by more than 4.00 USD"));
}

TEST(WaitingText, WhatIsLearntIsSaidWithItsIntervalAndIsNoPromise) {
  sched::Explanation e;
  e.standing = sched::Standing::kWaiting;
  e.obstacle = sched::Obstacle::kBehindOrder;
  e.expected = sched::ExpectedRun{.typical = Duration::minutes(130),
                                  .low = Duration::hours(1),
                                  .high = Duration::hours(76),
                                  .like = 31,
                                  .likeness = sched::Likeness::kNameSize};
  e.likely_start = sched::LikelyStart{
      .at = Instant::from_seconds(7200), .earliest = Instant::from_seconds(3600), .latest = Instant::from_seconds(10'800)};
  const std::string text = waiting_text(e, names, sched::JobId(1), Instant::from_seconds(0));
  EXPECT_THAT(text, HasSubstr("  expected to run 2 h 10 (from 31 jobs of the same name and size; 80 %: 1 h to 3 days 4 h)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  likely to start at 1970-01-01 02:00:00 UTC (1970-01-01 01:00:00 to 1970-01-01 03:00:00, as jobs before it "
                "run short or long): a guess, no promise\n"));
  const auto json = waiting_json(e, names, sched::JobId(1), Instant::from_seconds(0));
  EXPECT_EQ(json["expected"]["seconds"], 7800);
  EXPECT_EQ(json["expected"]["like"], 31);
  EXPECT_EQ(json["likely_start"]["at"], "1970-01-01T02:00:00Z");
  EXPECT_FALSE(json.contains("starts_at"));
}

TEST(WaitingText, AListHasOneLineOfIt) {
  sched::Explanation e;
  e.standing = sched::Standing::kWaiting;
  e.obstacle = sched::Obstacle::kNoRoom;
  e.missing_gpu_milli = 8'000;
  EXPECT_EQ(waiting_line(e, names), "8 more GPUs would have to be free");
  e.missing_gpu_milli = 1'000;
  EXPECT_EQ(waiting_line(e, names), "1 more GPU would have to be free");
  e.missing_gpu_milli = 8'000;
  e.jobs_ahead = 1;
  EXPECT_EQ(waiting_line(e, names), "8 more GPUs would have to be free; 1 waiting job goes before it");
  e.standing = sched::Standing::kReserved;
  e.jobs_ahead = 0;
  EXPECT_EQ(waiting_line(e, names), "room is reserved for it: 8 more GPUs would have to be free");
  e.obstacle = sched::Obstacle::kNone;
  EXPECT_EQ(waiting_line(e, names), "room is reserved for it");
  EXPECT_EQ(waiting_line({}, names), "");
}

TEST(WaitingText, ACheaperHourAndAClosedQueueAreReasons) {
  sched::Explanation deferred;
  deferred.standing = sched::Standing::kWaiting;
  deferred.obstacle = sched::Obstacle::kDeferred;
  deferred.remedies.push_back({.kind = sched::RemedyKind::kNotDeferred, .cost = Money::units(48)});
  const std::string text = waiting_text(deferred, names, sched::JobId(1), Instant::from_seconds(0));
  EXPECT_THAT(text, HasSubstr("waits: it may wait for a cheaper hour, and does"));
  EXPECT_THAT(text, HasSubstr("it starts now, for 48.00 USD more"));
  deferred.starts_at = Instant::from_seconds(36'000);
  deferred.deferral =
      sched::Deferral{.latest_start = Instant::from_seconds(64'800), .cost = Money::units(16), .cost_now = Money::units(64)};
  EXPECT_THAT(waiting_text(deferred, names, sched::JobId(1), Instant::from_seconds(0)),
              HasSubstr("until 1970-01-01 10:00:00 UTC: its GPUs cost 16.00 USD from then on, 64.00 USD from now on; to meet its "
                        "deadline it must start by 1970-01-01 18:00:00 UTC"));
  sched::Explanation closed;
  closed.standing = sched::Standing::kWaiting;
  closed.obstacle = sched::Obstacle::kClosed;
  closed.at_queue = sched::QueueId(0);
  EXPECT_THAT(waiting_text(closed, names, sched::JobId(1), Instant::from_seconds(0)),
              HasSubstr("queue research starts nothing at this hour"));
}

TEST(WaitingText, RemediesSayWhatTheyCost) {
  sched::Explanation e;
  e.standing = sched::Standing::kWaiting;
  e.obstacle = sched::Obstacle::kNoRoom;
  e.missing_gpu_milli = 2'500;
  sched::Remedy more = {.kind = sched::RemedyKind::kMoreGpus, .amount = 2, .cost = Money::units(48)};
  more.per_hour = Rate::per_hour(Money::units(24));
  more.like = NodeId(0);
  more.machines = 1;
  sched::Remedy stop = {.kind = sched::RemedyKind::kEvictLower, .job = sched::JobId(0)};
  stop.lost_gpu_seconds = 600;
  e.remedies = {stop, more};
  const std::string text = waiting_text(e, names, sched::JobId(1), Instant::from_seconds(0));
  EXPECT_THAT(text, HasSubstr("2.5 more GPUs would have to be free"));
  EXPECT_THAT(text, HasSubstr("stopping job train (lower priority) starts it now; 600 GPU-seconds of work are lost\n"));
  EXPECT_THAT(text, HasSubstr("1 machine more like box: 24.00 USD an hour, at most 48.00 USD for the job"));
  const nlohmann::ordered_json data = waiting_json(e, names, sched::JobId(1), Instant::from_seconds(0));
  EXPECT_EQ(data["obstacle"], "no-room");
  EXPECT_EQ(data["missing_gpus"], 2.5);
  EXPECT_EQ(data["remedies"][0]["job"], "train");
  EXPECT_EQ(data["remedies"][0]["lost_gpu_seconds"], 600);
  EXPECT_FALSE(data["remedies"][0].contains("other_queue"));
  EXPECT_EQ(data["remedies"][1]["like"], "box");
  EXPECT_EQ(data["remedies"][1]["cost"]["amount"], 48);

  e.remedies.front().other_queue = sched::QueueId(0);
  EXPECT_THAT(
      waiting_text(e, names, sched::JobId(1), Instant::from_seconds(0)),
      HasSubstr(
          "stopping job train (lower priority of queue research, but priority counts inside a queue only) starts it now; "));
  EXPECT_EQ(waiting_json(e, names, sched::JobId(1), Instant::from_seconds(0))["remedies"][0]["other_queue"], "research");
}

}  // namespace
}  // namespace stint
