#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using testing_world::at;
using testing_world::event;
using testing_world::plain;
using testing_world::World;

// With a reservation nobody else could delay it; what waits for a node is delayed by nobody.
TEST(Backfilling, AHeadThatWaitsForANodeIsPassedWithBackfill) {
  for (const Order order : {Order::kFifo, Order::kSjfOracle}) {
    for (const Backfill backfill : {Backfill::kNone, Backfill::kEasy, Backfill::kConservative}) {
      for (const bool shares : {false, true}) {
        Policy policy = plain(order);
        policy.backfill = backfill;
        World world(policy, 2);
        world.step(at(0), {event(EventKind::kNodeDrain, NodeId(1))});
        JobSpec wide = world.job(8, 2);
        JobSpec small = world.job(1);
        if (shares) {
          Request half;
          half.milli = 500;
          wide = world.job(1, 10);
          wide.request = small.request = world.scheduler.intern(half);
          wide.tasks = wide.min_tasks = 17;  // of half a GPU on a node of eight
        }
        wide.expected = Duration::hours(1);
        small.expected = Duration::hours(2);
        const JobId head = world.submit(at(1), wide);
        const JobId next = world.submit(at(2), small);
        const bool passes = backfill != Backfill::kNone;
        EXPECT_EQ(world.runs(next), passes) << name_of(order) << " " << name_of(backfill) << " " << shares;
        world.step(at(3), {event(EventKind::kNodeUp, NodeId(1))});
        EXPECT_EQ(world.runs(head), shares || !passes);
        if (!passes) continue;
        world.step(at(4), {event(EventKind::kFinished, next)});
        EXPECT_TRUE(world.runs(head));
      }
    }
  }
}

// One that would fit if others left has no reservation when their end is not known, and keeps its place.
TEST(Backfilling, AHeadThatWaitsForOthersIsNotPassedWithoutAReservation) {
  Policy policy = plain(Order::kFifo);
  policy.backfill = Backfill::kEasy;
  World world(policy, 1);
  const JobId first = world.submit(at(0), world.job(4));
  const JobId head = world.submit(at(1), world.job(8));
  const JobId small = world.submit(at(2), world.job(1));
  EXPECT_FALSE(world.runs(small));
  world.step(at(3), {event(EventKind::kFinished, first)});
  EXPECT_TRUE(world.runs(head));
}

TEST(Backfilling, AJobThatCannotFitAsksForNoTime) {
  World world(plain(Order::kFifoSkip), 1);
  JobSpec firm = world.job(8);
  firm.priority = 25;
  firm.preemptible = false;
  const JobId first = world.submit(at(0), firm);
  const JobId second = world.submit(at(10), world.job(8));
  EXPECT_EQ(world.scheduler.next_wakeup(), kNever);
  world.step(at(100), {event(EventKind::kFinished, first)});
  EXPECT_THAT(world.started(), ElementsAre(second));
}

TEST(Backfilling, EasyLetsPassOnlyWhatDoesNotDelayTheReservedJob) {
  Policy policy = plain(Order::kFifo);
  policy.backfill = Backfill::kEasy;
  World world(policy, 2);
  JobSpec runs = world.job(8);
  runs.time_limit = Duration::seconds(100);
  world.submit(at(0), runs);
  const JobId gang = world.submit(at(1), world.job(8, 2));  // from 100 on
  EXPECT_EQ(world.scheduler.explain(gang).standing, Standing::kReserved);
  EXPECT_EQ(world.scheduler.explain(gang).starts_at, at(100));
  JobSpec too_long = world.job(1);
  too_long.time_limit = Duration::seconds(99);
  const JobId blocked = world.submit(at(2), too_long);  // would end at 101
  EXPECT_THAT(world.started(), IsEmpty());
  EXPECT_EQ(world.scheduler.explain(blocked).obstacle, Obstacle::kBehindGang);
  EXPECT_EQ(world.scheduler.explain(blocked).behind, gang);
  JobSpec passes = world.job(2);
  passes.time_limit = Duration::seconds(97);
  const JobId passing = world.submit(at(3), passes);  // ends at 100
  EXPECT_THAT(world.started(), ElementsAre(passing));
  EXPECT_EQ(world.last[0].reason, Reason::kBackfill);
}

/// A pool of jobs with limits that end at or before them.
class LimitedLife {
 public:
  LimitedLife(Backfill backfill, uint64_t seed) : random_(seed), world_(policy(backfill), 5) {}

  void run() {
    for (int64_t second = 0; second < 4000; ++second) {
      std::vector<Event> events;
      for (size_t j = 0; j < ends_.size(); ++j)
        if (ends_[j] == second) events.push_back(event(EventKind::kFinished, JobId(static_cast<uint32_t>(j))));
      if (second < 3000 && random_.below(9) == 0) events.push_back(event(EventKind::kSubmit, new_job()));
      if (events.empty()) continue;
      world_.step(at(second), events);
      for (const World::Decided& d : world_.last) {
        if (d.kind != DecisionKind::kStart) continue;
        backfilled += d.reason == Reason::kBackfill ? 1 : 0;
        ends_[d.job.index()] = second + durations_[d.job.index()];
        ASSERT_LE(second, promised_[d.job.index()]) << "job " << d.job.index() << " was delayed";
      }
      note_promises();
    }
  }

  int backfilled = 0;

 private:
  static Policy policy(Backfill backfill) {
    Policy p = plain(Order::kFifo);
    p.backfill = backfill;
    return p;
  }

  JobId new_job() {
    constexpr int kSizes[] = {1, 2, 3, 4, 6, 8};
    JobSpec spec = world_.job(kSizes[random_.below(std::size(kSizes))]);
    if (random_.below(5) == 0) spec = world_.job(8, static_cast<int>(1 + random_.below(5)));
    const auto limit = static_cast<int64_t>(5 + random_.below(random_.below(3) == 0 ? 400 : 60));
    spec.time_limit = Duration::seconds(limit);
    durations_.push_back(random_.below(2) == 0 ? limit : 1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(limit))));
    ends_.push_back(-1);
    promised_.push_back(INT64_MAX);
    return world_.scheduler.add(spec);
  }

  /// Of the first in order: the promise every backfill must keep.
  void note_promises() {
    for (size_t j = 0; j < ends_.size(); ++j) {
      if (ends_[j] >= 0) continue;
      const Explanation why = world_.scheduler.explain(JobId(static_cast<uint32_t>(j)));
      if (why.standing != Standing::kReserved) continue;
      promised_[j] = std::min(promised_[j], why.starts_at->seconds());
      return;
    }
  }

  Prng random_;
  World world_;
  std::vector<int64_t> durations_;
  std::vector<int64_t> ends_;
  std::vector<int64_t> promised_;
};

TEST(Backfilling, BackfillNeverDelaysTheReservedJob) {
  for (const Backfill backfill : {Backfill::kEasy, Backfill::kConservative}) {
    int backfilled = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(testing::Message() << name_of(backfill) << ", seed " << seed);
      LimitedLife life(backfill, seed);
      life.run();
      if (testing::Test::HasFatalFailure()) return;
      backfilled += life.backfilled;
    }
    EXPECT_GT(backfilled, 100);
  }
}

}  // namespace
}  // namespace stint::sched
