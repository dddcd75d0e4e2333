// Room made in detail: elastic jobs shrink, limits are left room in, gangs move, and prices count where others leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

/// As World::job, with a CPU beside each GPU: such jobs are placed in detail.
JobSpec with_cpu(World& world, int gpus, int tasks = 1) {
  JobSpec spec = world.job(gpus, tasks);
  Request request;
  request.gpus = gpus;
  request.cpu_milli = 1000;
  spec.request = world.scheduler.intern(request);
  return spec;
}

TEST(Room, AnElasticJobGivesUpASurplusTaskAndRunsOn) {
  World world(plain(Order::kFifo), 1, 4);
  JobSpec elastic = with_cpu(world, 1, 4);
  elastic.min_tasks = 2;
  elastic.priority = 10;
  const JobId shrinks = world.submit(at(0), elastic);
  const JobId urgent = world.submit(at(60), with_cpu(world, 1));
  ASSERT_THAT(world.last, SizeIs(1));
  EXPECT_EQ(world.last[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(world.last[0].job, shrinks);
  EXPECT_EQ(world.last[0].for_job, urgent);
  EXPECT_THAT(world.last[0].places, SizeIs(1)) << "three of its four tasks go on";
  world.let_go(at(61));
  EXPECT_THAT(world.started(), ElementsAre(urgent));
  EXPECT_TRUE(world.runs(shrinks));
}

TEST(Room, AnElasticJobThatWouldFallBelowItsMinimumLeavesAsAWhole) {
  World world(plain(Order::kFifo), 1, 4);
  JobSpec elastic = with_cpu(world, 1, 4);
  elastic.min_tasks = 3;
  elastic.priority = 10;
  world.submit(at(0), elastic);
  world.submit(at(60), with_cpu(world, 2));
  size_t leaving = 0;
  for (const auto& d : world.last)
    leaving += d.places.size();
  EXPECT_EQ(leaving, 4U);
}

/// A search goes task by task. For the first task it is enough to move the victim's least tasks, which leaves its surplus task
/// where it is; for the second those have nowhere to go, and the surplus task must not stay behind alone.
TEST(Room, WhenAVictimHasNowhereToGoItsSurplusTasksLeaveToo) {
  World world(plain(Order::kFifo), 0);
  const auto add_node = [&](const char* name, int gpus, int64_t cpu_milli) {
    NodeSpec node = World::node(name, gpus);
    node.cpu_milli = cpu_milli;
    world.scheduler.add_node(node);
  };
  add_node("large", 2, 100'000);
  add_node("small-1", 1, 1'000);  // too few CPUs for the urgent job
  add_node("small-2", 1, 1'000);
  const JobId on_large = world.submit(at(0), with_cpu(world, 2));
  const JobId on_small_1 = world.submit(at(1), with_cpu(world, 1));
  const JobId on_small_2 = world.submit(at(2), with_cpu(world, 1));
  world.step(at(3), {event(EventKind::kFinished, on_large)});
  JobSpec elastic = with_cpu(world, 1, 3);
  elastic.min_tasks = 2;
  elastic.priority = 10;
  const JobId victim = world.submit(at(4), elastic);
  world.step(at(60), {event(EventKind::kFinished, on_small_1)});
  ASSERT_EQ(world.last.at(0).kind, DecisionKind::kGrow) << "its third task";
  world.step(at(120), {event(EventKind::kFinished, on_small_2)});

  JobSpec urgent = world.job(1, 2);
  Request request;
  request.gpus = 1;
  request.cpu_milli = 4'000;
  urgent.request = world.scheduler.intern(request);
  world.submit(at(180), urgent);
  size_t leaving = 0;
  for (const auto& d : world.last)
    if (d.kind == DecisionKind::kEvict && d.job == victim) leaving += d.places.size();
  EXPECT_EQ(leaving, 3U);
}

TEST(Room, WhatGaveWayGrowsBackWhenThereIsRoomAgain) {
  World world(plain(Order::kFifo), 1, 4);
  JobSpec elastic = with_cpu(world, 1, 4);
  elastic.min_tasks = 1;
  elastic.priority = 10;
  const JobId shrinks = world.submit(at(0), elastic);
  const JobId urgent = world.submit(at(60), with_cpu(world, 3));
  world.let_go(at(61));
  ASSERT_TRUE(world.runs(urgent));
  world.step(at(600), {event(EventKind::kFinished, urgent)});
  size_t grown = 0;
  for (const auto& d : world.last)
    if (d.kind == DecisionKind::kGrow && d.job == shrinks) grown += d.places.size();
  EXPECT_EQ(grown, 3U);
}

TEST(Room, OfTwoThatWaitTheSecondStartsBeforeTheFirstGetsASurplusTask) {
  World world(plain(Order::kFifo), 1, 2);
  JobSpec elastic = with_cpu(world, 1, 2);
  elastic.min_tasks = 1;
  const JobId first = world.scheduler.add(elastic);
  const JobId second = world.scheduler.add(with_cpu(world, 1));
  world.step(at(0), {event(EventKind::kSubmit, first), event(EventKind::kSubmit, second)});
  EXPECT_TRUE(world.runs(first));
  EXPECT_TRUE(world.runs(second));
}

TEST(Room, HigherPriorityGetsARoomThatItsQueuesLimitKeepsFromIt) {
  World world(plain(Order::kFifo), 2, 4);
  QueueSpec limited;
  limited.name = "limited";
  limited.limit.gpu_milli = 4 * kMilli;
  for (const bool counted : {true, false}) {
    limited.name += "'";
    const QueueId queue = world.scheduler.add_queue(limited);
    JobSpec low = counted ? world.job(2) : with_cpu(world, 2);
    low.queue = queue;
    low.priority = 10;
    const JobId older = world.submit(at(counted ? 0 : 7200), low);
    const JobId younger = world.submit(at(counted ? 10 : 7210), low);
    JobSpec high = low;
    high.priority = 50;
    const JobId urgent = world.submit(at(counted ? 3600 : 10800), high);
    ASSERT_THAT(world.last, SizeIs(1)) << "the fleet has room, the queue has not";
    EXPECT_EQ(world.last[0].for_job, urgent);
    world.let_go(at(counted ? 3601 : 10801));
    EXPECT_TRUE(world.runs(urgent));
    EXPECT_NE(world.runs(older), world.runs(younger));
    for (const JobId j : {older, younger, urgent})
      world.step(at(counted ? 3700 : 10900), {event(EventKind::kCancel, j)});
    world.let_go(at(counted ? 3701 : 10901));
  }
}

TEST(Room, EqualPriorityStopsNobodyForALimit) {
  World world(plain(Order::kFifo), 2, 4);
  QueueSpec limited;
  limited.name = "limited";
  limited.limit.gpu_milli = 4 * kMilli;
  JobSpec job = with_cpu(world, 4);
  job.queue = world.scheduler.add_queue(limited);
  world.submit(at(0), job);
  world.submit(at(3600), job);
  EXPECT_THAT(world.last, IsEmpty());
}

TEST(Room, FairSharesDivideWhatIsOver) {
  Policy policy = plain(Order::kFair);
  policy.shares = ShareRule::kFair;
  World world(policy, 1, 4);
  QueueSpec spec;
  spec.over_quota_weight = 1;
  spec.deserved.gpu_milli = 0;
  spec.name = "a";
  const QueueId a = world.scheduler.add_queue(spec);
  spec.name = "b";
  const QueueId b = world.scheduler.add_queue(spec);
  std::vector<JobId> borrowed;
  for (int i = 0; i < 4; ++i) {
    JobSpec job = with_cpu(world, 1);
    job.queue = a;
    borrowed.push_back(world.submit(at(i), job));
  }
  JobSpec job = with_cpu(world, 1);
  job.queue = b;
  std::vector<JobId> claims;
  for (int i = 0; i < 3; ++i) {
    claims.push_back(world.submit(at(3600 + 600 * i), job));
    world.let_go(at(3601 + 600 * i));
  }
  int of_b = 0;
  for (const JobId j : claims)
    of_b += world.runs(j) ? 1 : 0;
  EXPECT_EQ(of_b, 2) << "half of four, and no more";
}

TEST(Room, AGangWithATopologyMovesForALargerJob) {
  Policy policy = plain(Order::kFifo);
  World world(policy, 2, 4);
  Gang gang;
  gang.topology = {.required_level = "node", .preferred_level = "", .levels = {"node"}};
  JobSpec pair = with_cpu(world, 1, 2);
  pair.gang = world.scheduler.intern(gang);
  const JobId left = world.submit(at(0), pair);
  JobSpec filler = with_cpu(world, 2);
  const JobId ends = world.submit(at(1), filler);
  const JobId right = world.submit(at(2), pair);
  world.step(at(10), {event(EventKind::kFinished, ends)});
  const JobId large = world.submit(at(3600), with_cpu(world, 4));
  world.step(at(4 * 3600), {});
  world.let_go(at(4 * 3600 + 1));
  EXPECT_TRUE(world.runs(large)) << "one of the pairs moves to the other's node";
  EXPECT_TRUE(world.runs(left));
  EXPECT_TRUE(world.runs(right));
}

TEST(Room, SomeTasksOfAJobAreAdopted) {
  World world(plain(Order::kFifo), 1, 4);
  JobSpec elastic = with_cpu(world, 1, 3);
  elastic.min_tasks = 1;
  const JobId j = world.scheduler.add(elastic);
  const TaskId first(static_cast<uint32_t>(world.scheduler.tasks_of(j).data() - world.scheduler.cluster().tasks().data()));
  const std::vector<FoundTask> found = {{.task = first, .node = NodeId(0), .gpus = 0b1000}};
  world.scheduler.observe(at(0), {});
  ASSERT_TRUE(world.scheduler.adopt(j, found));
  EXPECT_EQ(world.scheduler.cluster().task(first).place.gpus, 0b1000U);
  world.step(at(60), {});
  ASSERT_THAT(world.last, SizeIs(2)) << "the others join it";
  EXPECT_EQ(world.last[0].kind, DecisionKind::kGrow);
}

}  // namespace
}  // namespace stint::sched
