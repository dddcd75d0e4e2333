// Who is stopped again and again, and who should not have been started.
#include <gmock/gmock.h>

#include <vector>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

/// One node that queue "owner" deserves whole; queue "all" may use it meanwhile.
class Lending : public testing::Test {
 protected:
  explicit Lending(Order order = Order::kFifoSkip) : world_(plain(order), 1) {
    QueueSpec owner;
    owner.name = "owner";
    owner.deserved.gpu_milli = 8000;
    owner_ = world_.scheduler.add_queue(owner);
  }

  JobSpec of_owner(int gpus) {
    JobSpec spec = world_.job(gpus);
    spec.queue = owner_;
    return spec;
  }
  /// The owner's job comes at `second`; @return how many seconds later the borrower was told to leave, 1200 = not by then.
  int64_t borrower_stays(int64_t second) {
    const JobId claim = world_.submit(at(second), of_owner(8));
    int64_t waited = 0;
    for (; world_.leaving.empty() && waited < 1200; waited += 10)
      world_.step(at(second + waited + 10), {});
    world_.let_go(at(second + waited));
    world_.step(at(second + waited), {event(EventKind::kFinished, claim)});
    return waited;
  }

  World world_;
  QueueId owner_;
};

// Found by exploration (seeds 10108, 15012): each of the owner's many jobs stopped the same borrower.
TEST_F(Lending, WhoWasCutShortHasALongerTermEachTime) {
  const JobId borrower = world_.submit(at(0), world_.job(8));
  int64_t now = 60;
  for (const int64_t term : {0, 120, 240, 480, 960, 960}) {
    EXPECT_EQ(borrower_stays(now), term) << "from second " << now;
    EXPECT_TRUE(world_.runs(borrower)) << "it starts when the owner has done";
    now += term;
  }
}

TEST_F(Lending, WhoHasRunForAnHourWasNotCutShort) {
  world_.submit(at(0), world_.job(8));
  EXPECT_EQ(borrower_stays(60), 0);
  EXPECT_EQ(borrower_stays(60), 120);
  EXPECT_EQ(borrower_stays(180 + 3600), 0);
  EXPECT_EQ(borrower_stays(180 + 3600), 120);
}

class LendingInLine : public Lending, public testing::WithParamInterface<Order> {
 protected:
  LendingInLine() : Lending(GetParam()) {}
};

// Found by exploration (seed 5743): the older job was started on free room and stopped in the same instant.
TEST_P(LendingInLine, RoomThatCouldBeClaimedGoesToWhoCouldClaimIt) {
  JobSpec firm = world_.job(8);
  firm.preemptible = false;
  const JobId running = world_.submit(at(0), firm);
  const JobId older = world_.submit(at(1), world_.job(8));
  const JobId claim = world_.submit(at(2), of_owner(8));
  EXPECT_THAT(world_.started(), IsEmpty());
  world_.step(at(100), {event(EventKind::kFinished, running)});
  EXPECT_THAT(world_.started(), ElementsAre(claim));
  EXPECT_THAT(world_.leaving, IsEmpty());
  world_.step(at(200), {event(EventKind::kFinished, claim)});
  EXPECT_THAT(world_.started(), ElementsAre(older));
}

TEST_P(LendingInLine, BeyondItsDueAQueueStandsInLineLikeOthers) {
  for (const bool other_is_older : {true, false}) {
    World world(plain(GetParam()), 2);
    QueueSpec owner;
    owner.deserved.gpu_milli = 8000;
    JobSpec owners = world.job(8);
    owners.queue = world.scheduler.add_queue(owner);
    JobSpec firm = world.job(8, 2);
    firm.preemptible = false;
    const JobId running = world.submit(at(0), firm);
    const JobId claim = world.submit(at(10), owners);
    const JobId second = world.submit(at(20), other_is_older ? world.job(8) : owners);
    const JobId third = world.submit(at(30), other_is_older ? owners : world.job(8));
    world.step(at(100), {event(EventKind::kFinished, running)});
    EXPECT_THAT(world.started(), ElementsAre(claim, second));
    world.step(at(200), {event(EventKind::kFinished, second)});
    EXPECT_THAT(world.started(), ElementsAre(third));
  }
}

// A job of half the room started beside the running one, and both were stopped for the claimant in the same step.
TEST_P(LendingInLine, WhatTheClaimantWouldTakeBackIsNotStarted) {
  World world(plain(GetParam()), 2);
  QueueSpec owner;
  owner.deserved.gpu_milli = 16000;
  JobSpec whole_fleet = world.job(8, 2);
  whole_fleet.queue = world.scheduler.add_queue(owner);
  JobSpec firm = world.job(8);
  firm.preemptible = false;
  const JobId blocker = world.submit(at(0), firm);
  const JobId borrower = world.submit(at(1), world.job(8));
  const JobId claim = world.submit(at(2), whole_fleet);
  const JobId other = world.submit(at(3), world.job(8));
  world.step(at(100), {event(EventKind::kFinished, blocker)});
  EXPECT_THAT(world.started(), IsEmpty());
  EXPECT_THAT(world.leaving, SizeIs(1));
  world.let_go(at(110));
  EXPECT_THAT(world.started(), ElementsAre(claim));
  world.step(at(200), {event(EventKind::kFinished, claim)});
  EXPECT_THAT(world.started(), UnorderedElementsAre(borrower, other));
}

INSTANTIATE_TEST_SUITE_P(Scheduler, LendingInLine, testing::Values(Order::kFifo, Order::kFifoSkip, Order::kSjfOracle));

TEST(Explains, WhoCouldClaimItsRoomIsAhead) {
  World world(plain(Order::kFifo), 1);
  QueueSpec spec;
  spec.deserved.gpu_milli = 8 * kMilli;
  const QueueId owner = world.scheduler.add_queue(spec);
  JobSpec firm = world.job(8);
  firm.preemptible = false;
  world.submit(at(0), firm);
  const JobId lent = world.submit(at(1), world.job(8));
  JobSpec own = world.job(8);
  own.queue = owner;
  const JobId claimant = world.submit(at(2), own);
  EXPECT_EQ(world.scheduler.explain(claimant).jobs_ahead, 0);
  EXPECT_EQ(world.scheduler.explain(lent).jobs_ahead, 1);
  EXPECT_EQ(world.scheduler.explain(lent).behind, claimant);
}

// Found by exploration (seed 20092).
// Taking turns costs at most a sixth of the time: what a stop loses counts, not its restart alone.
TEST(Turns, AJobGivesWayWhenItHasSaved) {
  World world(plain(Order::kStint), 1);
  JobSpec hourly = world.job(8);
  hourly.checkpoint.interval = Duration::hours(1);
  const JobId old = world.submit(at(0), hourly);
  world.step(at(3'600), {event(EventKind::kCheckpoint, old)});
  world.submit(at(7'000), world.job(8));
  EXPECT_THAT(world.last, IsEmpty()) << "56 minutes would be lost for the 117 it has run";
  world.step(at(7'100), {});
  EXPECT_THAT(world.last, IsEmpty());
  world.step(at(7'200), {event(EventKind::kCheckpoint, old)});
  ASSERT_EQ(world.last.size(), 1U);
  EXPECT_EQ(world.last[0].job, old);
}

TEST(Turns, NewcomersDoNotStopOneMoreThanSevenTimesAnHour) {
  World world(plain(Order::kStint), 1, 1);
  JobSpec saves_always = world.job(1);
  saves_always.checkpoint.interval = Duration();
  const JobId lasting = world.submit(at(0), saves_always);
  world.step(at(4 * 3600), {});  // newcomers rank before it from here on
  std::vector<int64_t> stopped_at;
  JobId newcomer;
  int64_t since = 0;
  for (int64_t s = 4 * 3600; s < 8 * 3600; s += 30) {
    if (newcomer.valid() && world.runs(newcomer) && s - since >= 60) {
      world.step(at(s), {event(EventKind::kFinished, newcomer)});
      newcomer = {};
    } else if (!newcomer.valid()) {
      newcomer = world.submit(at(s), saves_always);
    } else {
      world.step(at(s), {});
    }
    if (world.leaving.empty()) continue;
    stopped_at.push_back(s);
    since = s;
    world.let_go(at(s));
  }
  EXPECT_GE(stopped_at.size(), 10U);
  for (size_t i = 7; i < stopped_at.size(); ++i)
    EXPECT_GT(stopped_at[i] - stopped_at[i - 7], 3600);
  EXPECT_TRUE(world.runs(lasting) || newcomer.valid());
}

}  // namespace
}  // namespace stint::sched
