#include "sim/check_time.h"

#include <gtest/gtest.h>

namespace stint::sim {
namespace {

TEST(CheckedTimes, KnowHoursOfTheWeek) {
  Workload w;
  w.queues.resize(2);
  w.queues[1].parent = sched::QueueId(0);
  w.queues[0].closed[24 * 3] = true;  // Thursday, the first hour
  w.queues[1].closed[24 * 6 + 23] = true;
  const CheckedTimes times(w);
  EXPECT_TRUE(times.is_closed(sched::QueueId(0), Instant::from_seconds(0)));  // 1 January 1970
  EXPECT_TRUE(times.is_closed(sched::QueueId(1), Instant::from_seconds(3599)));
  EXPECT_FALSE(times.is_closed(sched::QueueId(1), Instant::from_seconds(3600)));
  EXPECT_TRUE(times.is_closed(sched::QueueId(1), Instant::from_seconds(4 * 86'400 - 1)));  // Sunday night
  EXPECT_FALSE(times.is_closed(sched::QueueId(0), Instant::from_seconds(4 * 86'400 - 1)));
  EXPECT_TRUE(times.is_closed(sched::QueueId(0), Instant::from_seconds(7 * 86'400)));
}

TEST(CheckedTimes, KnowQueuesThatNeverOpen) {
  Workload w;
  w.queues.resize(2);
  w.queues[1].parent = sched::QueueId(0);
  for (size_t hour = 0; hour < 168; ++hour)
    w.queues[hour % 2].closed[hour] = true;
  const CheckedTimes times(w);
  EXPECT_TRUE(times.ever_opens(sched::QueueId(0)));
  EXPECT_FALSE(times.ever_opens(sched::QueueId(1)));
}

TEST(CheckedTimes, OnlyTrialsThatAreNotAmongTheBestMayBeStopped) {
  Workload w;
  w.studies.push_back({.name = "s", .rules = {.first_rung = 1, .most = 9, .reduction = 2}});
  w.jobs.resize(5);
  for (uint32_t j = 0; j < 4; ++j)
    w.jobs[j].spec.study = sched::StudyId(0);
  CheckedTimes times(w);
  EXPECT_NE(times.problem_of_stopping(sched::JobId(4)), "");  // no trial
  EXPECT_NE(times.problem_of_stopping(sched::JobId(0)), "");  // has said nothing
  times.heard(sched::JobId(0), 0, 50);
  EXPECT_NE(times.problem_of_stopping(sched::JobId(0)), "");  // nothing to compare it with
  times.heard(sched::JobId(1), 0, 60);
  EXPECT_EQ(times.problem_of_stopping(sched::JobId(1)), "");  // the second of two, and half of them go on
  times.heard(sched::JobId(2), 0, 50);
  EXPECT_EQ(times.problem_of_stopping(sched::JobId(2)), "");  // one of three goes on, and equal ones by id
  times.heard(sched::JobId(3), 0, 50);
  EXPECT_EQ(times.problem_of_stopping(sched::JobId(3)), "");  // two of four, both equal and older
  times.heard(sched::JobId(0), 1, 90);
  EXPECT_NE(times.problem_of_stopping(sched::JobId(0)), "");  // alone at the next rung
}

}  // namespace
}  // namespace stint::sim
