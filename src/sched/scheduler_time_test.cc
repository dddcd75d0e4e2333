#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using namespace testing_world;
using testing::ElementsAre;
using testing::IsEmpty;

Instant hour(int64_t h) { return at(h * 3600); }  // hour 0 is Thursday 1970-01-01, midnight
Rate dollars(int64_t n) { return Rate::per_hour(Money::nanos(n * 1'000'000'000)); }

/// Dear, but for the hours `cheap` … `cheap_end`.
std::vector<PriceWindow> cheap_between(int64_t cheap, int64_t cheap_end) {
  return {{{hour(0), hour(cheap)}, dollars(4)},
          {{hour(cheap), hour(cheap_end)}, dollars(1)},
          {{hour(cheap_end), hour(1000)}, dollars(4)}};
}

JobSpec deferrable(World& world, int64_t deadline, int64_t hours = 2) {
  JobSpec spec = world.job(8);
  spec.deferrable = true;
  spec.deadline = hour(deadline);
  spec.time_limit = Duration::hours(hours);
  return spec;
}

TEST(Deferral, BeginsInTheCheapestSlotBeforeTheDeadline) {
  World world(plain(Order::kFifo), 1);
  world.scheduler.set_prices({{cheap_between(10, 14), {NodeId(0)}}});
  const JobId j = world.submit(hour(1), deferrable(world, 20));
  EXPECT_THAT(world.started(), IsEmpty());
  EXPECT_EQ(world.scheduler.next_wakeup(), hour(10));
  world.step(hour(10), {});
  EXPECT_THAT(world.started(), ElementsAre(j));
}

// Now 4 USD, then 1 USD an hour and GPU, for 2 h on 8 GPUs: 48 USD.
TEST(Deferral, IsTheReasonAndSaysWhatStartingNowWouldCost) {
  World world(plain(Order::kFifo), 1);
  world.scheduler.set_prices({{cheap_between(10, 14), {NodeId(0)}}});
  const JobId j = world.submit(hour(1), deferrable(world, 20));
  const Explanation why = world.scheduler.explain(j);
  EXPECT_EQ(why.obstacle, Obstacle::kDeferred);
  EXPECT_EQ(why.starts_at, hour(10));
  ASSERT_TRUE(why.deferral.has_value());
  EXPECT_EQ(why.deferral->latest_start, hour(18));
  EXPECT_EQ(why.deferral->cost, Money::units(16));
  EXPECT_EQ(why.deferral->cost_now, Money::units(64));
  ASSERT_EQ(why.remedies.size(), 2U);
  EXPECT_EQ(why.remedies[0].kind, RemedyKind::kWait);
  EXPECT_EQ(why.remedies[1].kind, RemedyKind::kNotDeferred);
  EXPECT_EQ(why.remedies[1].cost, Money::units(48));
}

// Two of one array, one at a time, and two of one product: in each pair the first waits for the hour, the second for the first.
TEST(Deferral, OtherPricesOpenNoOtherGate) {
  World world(plain(Order::kFifo), 2);
  const std::vector<NodeId> nodes = {NodeId(0), NodeId(1)};
  world.scheduler.set_prices({{cheap_between(10, 14), nodes}});
  JobSpec of_array = deferrable(world, 20);
  of_array.array = ArrayId(0);
  of_array.at_once = 1;
  JobSpec maker = deferrable(world, 20);
  maker.makes = ProductId(0);
  const JobId first = world.submit(hour(1), of_array);
  const JobId second = world.submit(hour(1), of_array);
  const JobId making = world.submit(hour(1), maker);
  const JobId other = world.submit(hour(1), maker);
  world.scheduler.set_prices({{cheap_between(2, 14), nodes}});
  world.step(hour(2), {});
  EXPECT_THAT(world.started(), ElementsAre(first, making));
  EXPECT_EQ(world.scheduler.explain(second).obstacle, Obstacle::kArray);
  EXPECT_EQ(world.scheduler.explain(other).obstacle, Obstacle::kBeingMade);
}

TEST(Deferral, OthersAreNotHeldUpByIt) {
  World world(plain(Order::kFifo), 1);
  world.scheduler.set_prices({{cheap_between(10, 14), {NodeId(0)}}});
  world.submit(hour(1), deferrable(world, 20));
  const JobId other = world.submit(hour(2), world.job(8));
  EXPECT_THAT(world.started(), ElementsAre(other));
}

TEST(Deferral, StartsAtOnceWithoutALengthADeadlineOrPrices) {
  for (const int without : {0, 1, 2, 3}) {
    World world(plain(Order::kFifo), 1);
    if (without != 0) world.scheduler.set_prices({{cheap_between(10, 14), {NodeId(0)}}});
    JobSpec spec = deferrable(world, 20);
    if (without == 1) spec.deadline = kNever;
    if (without == 2) spec.time_limit = kUnlimited;
    if (without == 3) spec.deadline = hour(2);  // could not be met any more
    EXPECT_TRUE(world.runs(world.submit(hour(1), spec)));
  }
}

TEST(Deferral, TheDeadlineComesBeforeThePrice) {
  World world(plain(Order::kFifo), 1);
  world.scheduler.set_prices({{cheap_between(10, 14), {NodeId(0)}}});
  // Two hours before 11:00: one hour of it is cheap.
  world.submit(hour(1), deferrable(world, 11));
  EXPECT_EQ(world.scheduler.next_wakeup(), hour(9));
}

TEST(Deferral, WithoutRoomInTheCheapHoursItWaitsForTheNextOnes) {
  World world(plain(Order::kFifo), 1);
  std::vector<PriceWindow> windows = cheap_between(10, 12);
  windows.back().when.end = hour(30);
  windows.push_back({{hour(30), hour(34)}, dollars(1)});
  world.scheduler.set_prices({{windows, {NodeId(0)}}});
  const JobId blocker = world.submit(hour(1), world.job(8));
  const JobId j = world.submit(hour(1), deferrable(world, 40));
  world.step(hour(10), {});
  EXPECT_FALSE(world.runs(j));
  world.step(hour(13), {event(EventKind::kFinished, blocker)});  // free, but dear
  EXPECT_THAT(world.started(), IsEmpty());
  EXPECT_EQ(world.scheduler.next_wakeup(), hour(30));
  world.step(hour(30), {});
  EXPECT_TRUE(world.runs(j));
}

TEST(Deferral, WithoutAnotherSlotItStartsWhenRoomComes) {
  World world(plain(Order::kFifo), 1);
  world.scheduler.set_prices({{cheap_between(10, 12), {NodeId(0)}}});
  const JobId blocker = world.submit(hour(1), world.job(8));
  const JobId j = world.submit(hour(1), deferrable(world, 12));
  world.step(hour(10), {});
  world.step(hour(11), {event(EventKind::kFinished, blocker)});
  EXPECT_TRUE(world.runs(j));
}

TEST(Deferral, GoesToTheCheaperOfTwoMarkets) {
  World world(plain(Order::kFifo), 2);
  world.scheduler.set_prices({{cheap_between(2, 3), {NodeId(0)}}, {cheap_between(10, 14), {NodeId(1)}}});
  const JobId j = world.submit(hour(1), deferrable(world, 20));
  world.step(hour(10), {});
  ASSERT_TRUE(world.runs(j));
  EXPECT_EQ(world.scheduler.tasks_of(j)[0].place.node, NodeId(1));
}

TEST(Deferral, NewPricesAreLookedAt) {
  World world(plain(Order::kFifo), 1);
  world.scheduler.set_prices({{cheap_between(10, 14), {NodeId(0)}}});
  const JobId j = world.submit(hour(1), deferrable(world, 20));
  world.scheduler.set_prices({{cheap_between(5, 8), {NodeId(0)}}});
  world.step(world.scheduler.next_wakeup(), {});
  EXPECT_EQ(world.scheduler.next_wakeup(), hour(5));
  world.step(hour(5), {});
  EXPECT_TRUE(world.runs(j));
}

TEST(QueueHours, JobsStartOnlyWhileTheirQueueIsOpen) {
  World world(plain(Order::kFifo), 1);
  QueueSpec night;
  night.name = "night";
  for (size_t h = 0; h < night.closed.size(); ++h)
    night.closed[h] = h % 24 >= 6 && h % 24 < 20;
  const QueueId queue = world.scheduler.add_queue(night);
  JobSpec spec = world.job(8);
  spec.queue = queue;
  const JobId j = world.submit(hour(7), spec);
  EXPECT_THAT(world.started(), IsEmpty());
  EXPECT_EQ(world.scheduler.next_wakeup(), hour(20));
  const JobId day = world.submit(hour(8), world.job(8));
  EXPECT_THAT(world.started(), ElementsAre(day)) << "the other queue is open";
  world.step(hour(19), {event(EventKind::kFinished, day)});
  EXPECT_THAT(world.started(), IsEmpty());
  world.step(hour(20), {});
  EXPECT_THAT(world.started(), ElementsAre(j));
  EXPECT_TRUE(world.runs(world.submit(hour(30), world.job(8))) == false);  // the night job holds the node, and goes on
  EXPECT_TRUE(world.runs(j));
}

/// What a deferrable job of two hours waits for, which was submitted at 1:00 to a queue that is closed from 8 to 16 every day.
Instant slot_of_a_day_queue(const std::vector<PriceWindow>& prices) {
  World world(plain(Order::kFifo), 1);
  QueueSpec above;
  above.name = "above";
  for (size_t h = 0; h < above.closed.size(); ++h)
    above.closed[h] = h % 24 >= 8 && h % 24 < 16;
  QueueSpec below;
  below.name = "below";
  below.parent = world.scheduler.add_queue(above);
  world.scheduler.set_prices({{prices, {NodeId(0)}}});
  JobSpec spec = deferrable(world, 40);
  spec.queue = world.scheduler.add_queue(below);
  const JobId j = world.submit(hour(1), spec);
  const Instant when = world.runs(j) ? hour(1) : world.scheduler.next_wakeup();
  if (!world.runs(j)) world.step(when, {});
  EXPECT_TRUE(world.runs(j));
  return when;
}

TEST(QueueHours, ASlotBeginsWhileTheQueueIsOpen) {
  std::vector<PriceWindow> prices = cheap_between(10, 14);
  EXPECT_EQ(slot_of_a_day_queue(prices), hour(1)) << "no hour in which it may start is cheaper";
  prices.back().when.end = hour(20);
  prices.push_back({{hour(20), hour(24)}, dollars(2)});
  prices.push_back({{hour(24), hour(1000)}, dollars(4)});
  EXPECT_EQ(slot_of_a_day_queue(prices), hour(20)) << "the cheapest in which it may start";
  EXPECT_EQ(slot_of_a_day_queue(cheap_between(8, 12)), hour(8) - Duration::seconds(1)) << "what has begun goes on";
  EXPECT_EQ(slot_of_a_day_queue(cheap_between(16, 18)), hour(16));
  EXPECT_EQ(slot_of_a_day_queue(cheap_between(36, 1000)), hour(1)) << "to 40:00, but it would have to begin at 38:00";
}

TEST(QueueHours, HoldForTheQueuesBelow) {
  World world(plain(Order::kStint), 1);
  QueueSpec parent;
  parent.name = "batch";
  parent.closed.set();
  parent.closed.reset(3 * 24 + 5);  // Thursday, 05:00 to 06:00
  QueueSpec child;
  child.name = "child";
  child.parent = world.scheduler.add_queue(parent);
  JobSpec spec = world.job(8);
  spec.queue = world.scheduler.add_queue(child);
  const JobId j = world.submit(hour(1), spec);
  EXPECT_EQ(world.scheduler.next_wakeup(), hour(5));
  world.step(hour(5), {});
  EXPECT_TRUE(world.runs(j));
  world.step(hour(6), {event(EventKind::kFinished, j)});
  world.submit(hour(6), spec);
  EXPECT_EQ(world.scheduler.next_wakeup(), hour(5 + 168));
}

TEST(QueueHours, AreTheReasonAndTheQueueAboveIsNamed) {
  World world(plain(Order::kFifo), 1);
  QueueSpec parent;
  parent.name = "night";
  parent.closed.set();
  parent.closed.reset(3 * 24 + 5);  // Thursday, 05:00 to 06:00
  QueueSpec child;
  child.parent = world.scheduler.add_queue(parent);
  JobSpec spec = world.job(8);
  spec.queue = world.scheduler.add_queue(child);
  const JobId j = world.submit(hour(1), spec);
  const Explanation why = world.scheduler.explain(j);
  EXPECT_EQ(why.obstacle, Obstacle::kClosed);
  EXPECT_EQ(why.at_queue, child.parent);
  EXPECT_EQ(why.starts_at, hour(5));
}

Event metric(JobId j, int32_t rung, int64_t loss) {
  Event e = event(EventKind::kMetric, j);
  e.rung = rung;
  e.loss_micro = loss;
  return e;
}

TEST(Trials, TheWorstOfARungAreStopped) {
  World world(plain(Order::kFifo), 1);
  const StudyId study = world.scheduler.add_study({.first_rung = 1, .most = 9, .reduction = 3});
  std::vector<JobId> trials;
  for (int i = 0; i < 4; ++i) {
    JobSpec spec = world.job(1);
    spec.study = study;
    trials.push_back(world.submit(at(0), spec));
  }
  // The first two go on: with fewer than three there is no best third.
  world.step(at(10), {metric(trials[0], 0, 500)});
  world.step(at(11), {metric(trials[1], 0, 300)});
  EXPECT_THAT(world.last, IsEmpty());
  world.step(at(12), {metric(trials[2], 0, 400)});
  ASSERT_EQ(world.last.size(), 1U);
  EXPECT_EQ(world.last[0].job, trials[2]);
  EXPECT_EQ(world.last[0].reason, Reason::kHopelessTrial);
  world.let_go(at(13));
  EXPECT_THAT(world.started(), IsEmpty()) << "it does not come back";
  world.step(at(14), {metric(trials[3], 0, 100)});
  EXPECT_THAT(world.last, IsEmpty()) << "the best so far";
  world.step(at(15), {metric(trials[0], 0, 900)});
  EXPECT_THAT(world.last, IsEmpty()) << "told before";
  // At the last rung no trial is stopped.
  for (const JobId j : {trials[0], trials[1], trials[3]})
    world.step(at(20), {metric(j, 2, 100 + j.index())});
  EXPECT_THAT(world.last, IsEmpty());
}

}  // namespace
}  // namespace stint::sched
