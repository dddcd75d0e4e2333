// A burst of shapes is searched for over several steps, and each shape has its turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing::IsEmpty;
using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

constexpr int kShapes = 600;

/// One node that takes jobs, and as many drained ones as it takes for no shape of the burst to be refused for good.
World one_node_of_many(Policy policy) {
  World world(policy, kShapes + 2);
  std::vector<Event> drained;
  for (uint32_t n = 1; n < kShapes + 2; ++n)
    drained.push_back(event(EventKind::kNodeDrain, NodeId(n)));
  world.step(at(0), drained);
  return world;
}

/// Jobs of so many shapes, none of which would fit if all that runs left.
std::vector<Event> burst(World& world, const JobSpec& like) {
  std::vector<Event> events;
  for (int tasks = 2; tasks < kShapes + 2; ++tasks) {
    JobSpec spec = like;
    spec.tasks = spec.min_tasks = tasks;
    events.push_back(event(EventKind::kSubmit, world.scheduler.add(spec)));
  }
  return events;
}

bool stops_for(const World& world, JobId job) {
  return std::ranges::any_of(world.last, [&](const auto& d) { return d.kind == DecisionKind::kEvict && d.for_job == job; });
}

TEST(SearchTurns, ABurstOfShapesIsSearchedForInSeveralSteps) {
  World world = one_node_of_many(plain(Order::kFifo));
  JobSpec low = world.job(8);
  low.priority = 10;
  world.submit(at(0), low);
  std::vector<Event> events = burst(world, world.job(8));
  const JobId last = world.scheduler.add(world.job(8));
  events.push_back(event(EventKind::kSubmit, last));
  world.step(at(600), events);
  EXPECT_THAT(world.last, IsEmpty()) << "all in one step";
  int steps = 0;
  for (; steps < 10 && !stops_for(world, last); ++steps) {
    const Instant next = world.scheduler.next_wakeup();
    ASSERT_LE(next, at(660)) << "soon, whatever else there is to wait for";
    auto copy = Scheduler::load(plain(Order::kFifo), world.scheduler.save());
    ASSERT_TRUE(copy);
    world.step(next, {});
    copy->step(next, {});
    ASSERT_EQ(copy->fingerprint(), world.scheduler.fingerprint());
  }
  EXPECT_EQ(steps, 2) << "601 searches, 128 of heads and 128 of newcomers in a step";
}

// Whenever there is a step, the first in order might be searched for again: something has changed, and long enough ago.
TEST(SearchTurns, TheFirstInOrderDoNotComeAgainBeforeTheLastHasBeenTried) {
  Policy policy = plain(Order::kStint);
  policy.preempt = true;
  policy.reclaim = false;
  World world = one_node_of_many(policy);
  world.submit(at(0), world.job(8));
  std::vector<Event> events = burst(world, world.job(8));
  const JobId last = world.scheduler.add(world.job(8));
  events.push_back(event(EventKind::kSubmit, last));
  world.step(at(7'200), events);
  ASSERT_THAT(world.last, IsEmpty());
  int steps = 0;
  for (int64_t now = 7'300; steps < 10 && !stops_for(world, last); ++steps, now += 100)
    world.step(at(now), {event(EventKind::kNodeDrain, NodeId(1)), event(EventKind::kNodeUp, NodeId(1)),
                         event(EventKind::kNodeDrain, NodeId(1))});
  EXPECT_EQ(steps, 4) << "601 searches, 128 in a step";
}

// Each claim is met, so all of the step's searches find somebody, and those for whom there is no search are tried by priority alone.
TEST(SearchTurns, WhoHasHadNoSearchForAClaimComesInTheNextStep) {
  constexpr int kClaims = 300;
  Policy policy = plain(Order::kStint);
  policy.shares = ShareRule::kFair;
  policy.consolidate = false;
  World world(policy, kClaims / 8 + 1);
  QueueSpec lender;
  lender.name = "all";
  lender.deserved.gpu_milli = 0;
  world.scheduler.change_queue(world.queue, lender);
  QueueSpec spec;
  spec.name = "claims";
  spec.deserved.gpu_milli = kClaims * int64_t{kMilli};
  const QueueId claims = world.scheduler.add_queue(spec);
  std::vector<Event> events;
  for (int j = 0; j < kClaims / 8 * 8 + 8; ++j)
    events.push_back(event(EventKind::kSubmit, world.scheduler.add(world.job(1))));
  world.step(at(0), events);
  ASSERT_EQ(world.started().size(), events.size());
  events.clear();
  for (int j = 0; j < kClaims; ++j) {
    JobSpec job = world.job(1);
    job.queue = claims;
    Request request;
    request.gpus = 1;
    request.cpu_milli = 1 + j;  // a shape of its own
    job.request = world.scheduler.intern(request);
    events.push_back(event(EventKind::kSubmit, world.scheduler.add(job)));
  }
  world.step(at(7'200), events);
  while (world.leaving.size() < kClaims && world.scheduler.next_wakeup() < at(7'260))
    world.step(world.scheduler.next_wakeup(), {});
  EXPECT_EQ(world.leaving.size(), kClaims) << "within a minute";
}

TEST(SearchTurns, WhoIsForgottenMeanwhileIsNotSearchedFor) {
  World world = one_node_of_many(plain(Order::kFifo));
  JobSpec low = world.job(8);
  low.priority = 10;
  const JobId runs = world.submit(at(0), low);
  const JobId cancelled = world.submit(at(1), world.job(8, 2));
  world.step(at(2), {event(EventKind::kCancel, cancelled)});
  std::vector<Event> events = burst(world, world.job(8));
  const JobId last = world.scheduler.add(world.job(8));
  events.push_back(event(EventKind::kSubmit, last));
  world.step(at(600), events);
  ASSERT_THAT(world.last, IsEmpty());
  std::vector<bool> gone(last.index() + 1, false);
  gone[cancelled.index()] = true;
  world.scheduler.forget(gone);
  const JobId now_last(last.index() - 1);
  for (int steps = 0; steps < 10 && !stops_for(world, now_last); ++steps)
    world.step(world.scheduler.next_wakeup(), {});
  EXPECT_TRUE(stops_for(world, now_last));
  EXPECT_EQ(world.last.front().job, runs);
}

}  // namespace
}  // namespace stint::sched
