// What goes before what, where age alone does not decide.
#include "sched/queues/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

constexpr int64_t kHour = 3'600;

/// Of `order`, for a job that was submitted at 100 h and must have started by then.
Rank rank_with_deadline(Order order, Instant latest_start) {
  return rank_of(plain(order), {.priority = 50, .submitted = at(100 * kHour), .latest_start = latest_start});
}

TEST(Deadlines, ThoseWithLessTimeToSpareGoFirst) {
  for (const Order order : {Order::kFair, Order::kStint}) {
    const Rank none = rank_with_deadline(order, kNever);
    EXPECT_EQ(rank_with_deadline(order, at(124 * kHour)), none) << "a day ahead";
    EXPECT_LT(rank_with_deadline(order, at(123 * kHour)), none);
    EXPECT_LT(rank_with_deadline(order, at(102 * kHour)), rank_with_deadline(order, at(103 * kHour)));
    EXPECT_EQ(rank_with_deadline(order, at(0)), rank_with_deadline(order, at(100 * kHour)))
        << "what cannot be met counts no more";
    EXPECT_EQ(none.minor - rank_with_deadline(order, at(0)).minor, kDeadlineNear.count_ns());
  }
  EXPECT_EQ(rank_with_deadline(Order::kFifo, at(101 * kHour)), rank_with_deadline(Order::kFifo, kNever));
}

// Both last an hour, the machine is free after one: in order of submission the second would end an hour late.
TEST(Deadlines, TwoAreMetThatTheOrderOfSubmissionWouldNot) {
  for (const Order order : {Order::kFair, Order::kStint}) {
    World world(plain(order), 1);
    JobSpec hour = world.job(8);
    hour.checkpoint = {};
    hour.time_limit = Duration::hours(1);
    const JobId before = world.submit(at(0), hour);
    hour.deadline = at(5 * kHour);
    const JobId relaxed = world.submit(at(60), hour);
    hour.deadline = at(2 * kHour + 600);
    const JobId urgent = world.submit(at(120), hour);
    world.step(at(kHour), {event(EventKind::kFinished, before)});
    EXPECT_TRUE(world.runs(urgent));
    world.step(at(2 * kHour), {event(EventKind::kFinished, urgent)});
    EXPECT_TRUE(world.runs(relaxed));
  }
}

// A limit that is not known is no reason to give up: then the deadline itself says how urgent it is.
TEST(Deadlines, CountWhereNoRunTimeIsKnown) {
  World world(plain(Order::kStint), 1);
  JobSpec spec = world.job(8);
  spec.checkpoint = {};
  const JobId before = world.submit(at(0), spec);
  const JobId other = world.submit(at(60), spec);
  spec.deadline = at(10 * kHour);
  const JobId due = world.submit(at(120), spec);
  EXPECT_EQ(world.scheduler.waiting_line(), (std::vector<JobId>{due, other}));
  EXPECT_TRUE(world.runs(before));
}

}  // namespace
}  // namespace stint::sched
