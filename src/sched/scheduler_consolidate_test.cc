#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "base/prng.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using namespace testing_world;
using testing::ElementsAre;
using testing::IsEmpty;

/// Nothing but consolidation stops anybody.
Policy moving() {
  Policy policy = plain(Order::kFifoSkip);
  policy.preempt = policy.reclaim = false;
  return policy;
}

/// A job that promises little: stopped, it may lose a day.
JobSpec saves_daily(World& world, int gpus) {
  JobSpec spec = world.job(gpus);
  spec.checkpoint.interval = Duration::hours(24);
  return spec;
}

/// Two nodes of 8: 5 GPUs held on each, by jobs of 5, or of 1 and 4.
struct Scattered {
  explicit Scattered(const Policy& policy = moving()) : world(policy, 2) {
    const JobId filler = world.submit(at(0), saves_daily(world, 3));
    large = world.submit(at(0), saves_daily(world, 5));
    four = world.submit(at(0), saves_daily(world, 4));
    one = world.submit(at(0), saves_daily(world, 1));
    world.step(at(0), {event(EventKind::kFinished, filler)});
  }
  World world;
  JobId large, four, one;
};

std::vector<JobId> told_to_leave(const World& world) {
  std::vector<JobId> ids;
  for (const World::Decided& d : world.last)
    if (d.kind == DecisionKind::kEvict) ids.push_back(d.job);
  return ids;
}

TEST(Consolidation, MovesTheCheapestSoThatTheWaitingJobFits) {
  Scattered s;
  const JobId waiting = s.world.submit(at(60), s.world.job(4));  // 3 are free on each node
  EXPECT_THAT(s.world.started(), IsEmpty());
  // At 01:00 the moving of one GPU loses an hour of one GPU at most; the job has lost 4 GPU-hours.
  s.world.step(at(3660), {});
  ASSERT_EQ(s.world.last.size(), 1U);
  EXPECT_EQ(s.world.last[0].job, s.one);
  EXPECT_EQ(s.world.last[0].reason, Reason::kConsolidation);
  EXPECT_EQ(s.world.last[0].for_job, waiting);
  s.world.let_go(at(3700));
  EXPECT_THAT(s.world.started(), testing::UnorderedElementsAre(waiting, s.one));
  for (const World::Decided& d : s.world.last)
    EXPECT_EQ(d.reason, Reason::kHeld);
  EXPECT_EQ(s.world.scheduler.tasks_of(s.one)[0].place.node, NodeId(0));
  EXPECT_EQ(s.world.scheduler.tasks_of(waiting)[0].place.node, NodeId(1));
}

TEST(Consolidation, NotBeforeWaitingHasCostAsMuchAsMoving) {
  Scattered s;
  s.world.submit(at(3600), s.world.job(4));
  // After w seconds four GPUs have waited for 4 w; moving the single one would lose 3,600 + w: not before w = 1,200.
  for (int64_t wakeups = 0; wakeups < 4; ++wakeups) {
    const Instant again = s.world.scheduler.next_wakeup();
    ASSERT_EQ(again, at(3600 + 300 * (wakeups + 1)));
    s.world.step(again, {});
    EXPECT_EQ(told_to_leave(s.world).size(), wakeups == 3 ? 1U : 0U);
  }
}

TEST(Consolidation, NotBeforeTheMoverHasSettled) {
  Scattered s;
  s.world.submit(at(60), s.world.job(4));
  EXPECT_EQ(s.world.scheduler.next_wakeup(), at(600));
  s.world.step(at(599), {event(EventKind::kCheckpoint, s.one)});
  EXPECT_THAT(s.world.last, IsEmpty());
  s.world.step(at(600), {});
  EXPECT_THAT(told_to_leave(s.world), ElementsAre(s.one));
}

TEST(Consolidation, OneThatHasJustSavedMovesRatherThanOneThatHasNot) {
  for (const bool first_saves : {true, false}) {
    World world(moving(), 2);
    const JobId filler = world.submit(at(0), saves_daily(world, 4));
    const JobId one = world.submit(at(0), saves_daily(world, 2));
    const JobId other = world.submit(at(0), saves_daily(world, 2));  // 4 + 2 + 2
    world.submit(at(0), saves_daily(world, 4));
    world.step(at(1), {event(EventKind::kFinished, filler)});
    const JobId saves = first_saves ? one : other;
    world.submit(at(2), world.job(6));  // 4 free on each node: one of the jobs of 2 moves
    world.step(at(500), {event(EventKind::kCheckpoint, saves)});
    world.step(at(3600), {});
    EXPECT_THAT(told_to_leave(world), ElementsAre(saves));
  }
}

TEST(Consolidation, NoJobLeavesThatWouldHaveNowhereToGo) {
  World world(moving(), 2);
  const JobId a = world.submit(at(0), world.job(5));
  const JobId b = world.submit(at(0), world.job(5));
  const JobId waiting = world.submit(at(1), world.job(6));  // 6 are free, 3 and 3; neither 5 fits beside the other
  for (int64_t hour = 1; hour <= 20; ++hour) {
    world.step(at(hour * 3600), {});
    ASSERT_THAT(world.last, IsEmpty());
  }
  EXPECT_TRUE(world.runs(a) && world.runs(b) && !world.runs(waiting));
}

TEST(Consolidation, LeavesAloneWhoCannotSaveOrMayNotBeStopped) {
  for (const bool saves : {false, true}) {
    World world(moving(), 2);
    JobSpec fixed = world.job(4);
    fixed.preemptible = !saves;
    if (!saves) fixed.checkpoint.interval = kUnlimited;
    const JobId filler = world.submit(at(0), world.job(4));
    world.submit(at(0), fixed);
    world.submit(at(0), fixed);
    world.step(at(0), {event(EventKind::kFinished, filler)});
    ASSERT_EQ(world.started().size(), 0U);
    world.submit(at(1), world.job(8));
    world.step(at(100'000), {});
    EXPECT_THAT(world.last, IsEmpty());
  }
}

TEST(Consolidation, OffByPolicy) {
  Policy policy = moving();
  policy.consolidate = false;
  Scattered s(policy);
  s.world.submit(at(60), s.world.job(4));
  s.world.step(at(100'000), {});
  EXPECT_THAT(s.world.last, IsEmpty());
  EXPECT_EQ(s.world.scheduler.next_wakeup(), kNever);
}

TEST(Consolidation, KeepsTheNewRoomFromOthersUntilTheMoverComes) {
  Scattered s;
  s.world.submit(at(60), s.world.job(4));
  s.world.step(at(3660), {});
  ASSERT_THAT(told_to_leave(s.world), ElementsAre(s.one));
  // 2 of the 3 GPUs of the first node are left for others.
  const JobId three = s.world.submit(at(3661), s.world.job(3));
  EXPECT_FALSE(s.world.runs(three));
  const JobId two = s.world.submit(at(3662), s.world.job(2));
  EXPECT_TRUE(s.world.runs(two));
  s.world.let_go(at(3670));
  EXPECT_TRUE(s.world.runs(s.one));
}

TEST(Consolidation, AMoverWhoseNewNodeIsLostWaitsLikeOthers) {
  Scattered s;
  const JobId waiting = s.world.submit(at(60), s.world.job(4));
  s.world.step(at(3660), {});
  ASSERT_THAT(told_to_leave(s.world), ElementsAre(s.one));
  s.world.step(at(3661), {event(EventKind::kNodeDown, NodeId(0))});
  s.world.let_go(at(3670));
  EXPECT_TRUE(s.world.runs(waiting));
  EXPECT_FALSE(s.world.runs(s.one));
  s.world.step(at(3700), {event(EventKind::kNodeUp, NodeId(0))});
  EXPECT_TRUE(s.world.runs(s.one));
}

TEST(Consolidation, AMoverThatEndsWhileLeavingGivesItsNewRoomBack) {
  Scattered s;
  s.world.submit(at(60), s.world.job(4));
  s.world.step(at(3660), {});
  ASSERT_THAT(told_to_leave(s.world), ElementsAre(s.one));
  s.world.leaving.clear();
  s.world.step(at(3661), {event(EventKind::kFinished, s.one)});
  const JobId three = s.world.submit(at(3662), s.world.job(3));
  EXPECT_TRUE(s.world.runs(three));
}

TEST(Consolidation, WhoMovedStaysForAWhile) {
  Scattered s;
  s.world.submit(at(60), s.world.job(4));
  s.world.step(at(3660), {});
  s.world.let_go(at(3700));  // 2 free on the first node, none on the second
  const JobId four_left = s.four;
  s.world.step(at(3700), {event(EventKind::kFinished, four_left)});  // 4 free there now
  // 6 GPUs for a job: one of 1 GPU would have to move back.
  s.world.submit(at(3701), s.world.job(6));
  s.world.step(at(3700 + 599), {});
  EXPECT_THAT(told_to_leave(s.world), IsEmpty());
}

TEST(Consolidation, AGangGetsSeveralNodesCleared) {
  World world(moving(), 4);
  // 6 of 8 held on each of three nodes, by 4 and 2; 2 on the last.
  std::vector<JobId> fillers, smalls;
  for (int n = 0; n < 3; ++n) {
    world.submit(at(0), world.job(4));
    smalls.push_back(world.submit(at(0), world.job(2)));
    fillers.push_back(world.submit(at(0), world.job(2)));
  }
  world.submit(at(0), world.job(2));
  std::vector<Event> ends;
  for (const JobId f : fillers)
    ends.push_back(event(EventKind::kFinished, f));
  world.step(at(1), ends);
  const JobId gang = world.submit(at(2), world.job(4, 3));  // 12 GPUs are free: 2 + 2 + 2 + 6
  EXPECT_FALSE(world.runs(gang));
  world.step(at(7200), {});
  // One task goes to the last node and leaves 2 there; two nodes are cleared of 2 GPUs each, the third node takes the others.
  EXPECT_EQ(told_to_leave(world).size(), 2U);
  world.let_go(at(7201));
  EXPECT_TRUE(world.runs(gang));
  for (const JobId small : smalls)
    EXPECT_TRUE(world.runs(small));
}

TEST(Consolidation, PartsOfGpusMoveTogetherForAWholeOne) {
  World world(moving(), 1, 2);
  Request half;
  half.milli = 600;
  JobSpec small = world.job(1);
  small.request = world.scheduler.intern(half);
  Request less;
  less.milli = 300;
  JobSpec smaller = small;
  smaller.request = world.scheduler.intern(less);
  const JobId filler = world.submit(at(0), small);
  world.submit(at(0), small);
  world.step(at(0), {});
  const JobId mover = world.submit(at(0), smaller);  // beside the filler
  world.step(at(1), {event(EventKind::kFinished, filler)});
  const JobId whole = world.submit(at(2), world.job(1));  // 700 and 400 milli-GPU are free
  EXPECT_FALSE(world.runs(whole));
  world.step(at(7200), {});
  EXPECT_THAT(told_to_leave(world), ElementsAre(mover));
  world.let_go(at(7201));
  EXPECT_TRUE(world.runs(whole) && world.runs(mover));
}

/// Random jobs come and go: everybody that is told to move runs again at once when it has left, and nothing is decided when
/// nothing happens.
TEST(Consolidation, EverybodyMovedRunsAgainAtOnce) {
  int64_t moved = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    World world(moving(), 6);
    std::vector<JobId> jobs;
    for (int64_t minute = 0; minute < 2000; minute += 5) {
      const Instant now = at(minute * 60);
      if (random.below(3) > 0) jobs.push_back(world.submit(now, world.job(1 << random.below(4), random.below(4) == 0 ? 2 : 1)));
      std::vector<Event> ends;
      for (const JobId j : jobs)
        if (world.runs(j) && random.below(40) == 0) ends.push_back(event(EventKind::kFinished, j));
      world.step(now, ends);
      const std::vector<JobId> movers = told_to_leave(world);
      moved += std::ssize(movers);
      world.let_go(now);
      for (const JobId m : movers)
        EXPECT_TRUE(world.runs(m)) << m.index();
      EXPECT_THAT(told_to_leave(world), IsEmpty());
      world.step(now, {});
      EXPECT_THAT(world.last, IsEmpty());
    }
  }
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace stint::sched
