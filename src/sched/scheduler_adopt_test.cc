#include <gtest/gtest.h>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::at;
using testing_world::event;
using testing_world::World;

const Policy kFifoSkip = testing_world::plain(Order::kFifoSkip);

TEST(Adopt, WhatIsFoundRunningHoldsItsRoom) {
  World world(kFifoSkip, 2, 8);
  const JobId found = world.scheduler.add(world.job(8));
  const std::vector<NodeId> nodes = {NodeId(1)};
  ASSERT_TRUE(world.scheduler.adopt(found, nodes));
  const JobId next = world.submit(at(1), world.job(8));
  const JobId last = world.submit(at(2), world.job(1));
  EXPECT_EQ(world.scheduler.tasks_of(next)[0].place.node, NodeId(0));
  EXPECT_FALSE(world.runs(last));
  world.step(at(3), {event(EventKind::kFinished, found)});
  EXPECT_EQ(world.scheduler.tasks_of(last)[0].place.node, NodeId(1));
}

TEST(Adopt, ObservedEndsMakeRoomBeforeAnythingIsDecided) {
  World world(kFifoSkip, 1, 8);
  const JobId first = world.submit(at(0), world.job(8));
  const JobId waits = world.submit(at(1), world.job(8));
  const JobId outside = world.scheduler.add(world.job(8));
  const std::vector<NodeId> nodes = {NodeId(0)};
  EXPECT_FALSE(world.scheduler.adopt(outside, nodes)) << "the room is held";
  const std::vector<Event> ended = {event(EventKind::kFinished, first)};
  world.scheduler.observe(at(2), ended);
  ASSERT_TRUE(world.scheduler.adopt(outside, nodes));
  world.step(at(2), {});
  EXPECT_TRUE(world.started().empty());
  EXPECT_FALSE(world.runs(waits));
}

TEST(Adopt, AWaitingJobThatSomebodyElseStartedWaitsNoLonger) {
  World world(kFifoSkip, 1, 8);
  const JobId first = world.submit(at(0), world.job(6));
  const JobId waits = world.submit(at(1), world.job(4));
  const std::vector<Event> ended = {event(EventKind::kFinished, first)};
  world.scheduler.observe(at(2), ended);
  const std::vector<NodeId> nodes = {NodeId(0)};
  ASSERT_TRUE(world.scheduler.adopt(waits, nodes));
  world.step(at(2), {});
  EXPECT_TRUE(world.started().empty()) << "it runs already";
  EXPECT_TRUE(world.runs(waits));
}

TEST(Adopt, WhatRunsOnADrainedNodeGoesOnThere) {
  World world(kFifoSkip, 1, 8);
  const std::vector<Event> drained = {event(EventKind::kNodeDrain, NodeId(0))};
  world.scheduler.observe(at(0), drained);
  const JobId found = world.scheduler.add(world.job(4));
  const std::vector<NodeId> nodes = {NodeId(0)};
  ASSERT_TRUE(world.scheduler.adopt(found, nodes));
  const JobId next = world.submit(at(1), world.job(1));
  EXPECT_FALSE(world.runs(next));
}

TEST(Adopt, TakesRoomThatWasPromisedToAnother) {
  Policy policy = testing_world::plain(Order::kStint);
  policy.preempt = true;
  World world(policy, 1, 8);
  JobSpec low = world.job(8);
  low.priority = 10;
  const JobId victim = world.submit(at(0), low);
  JobSpec high = world.job(8);
  high.priority = 90;
  const JobId heir = world.submit(at(600), high);
  ASSERT_FALSE(world.leaving.empty());
  // The victim has left, and before anybody looked another took its room.
  std::vector<Event> gone;
  for (const TaskId t : world.leaving)
    gone.push_back({.kind = EventKind::kEvicted, .job = victim, .task = t, .node = {}, .until = {}});
  world.scheduler.observe(at(601), gone);
  const JobId outside = world.scheduler.add(world.job(8));
  const std::vector<NodeId> nodes = {NodeId(0)};
  ASSERT_TRUE(world.scheduler.adopt(outside, nodes));
  world.step(at(601), {});
  EXPECT_FALSE(world.runs(heir));
}

}  // namespace
}  // namespace stint::sched
