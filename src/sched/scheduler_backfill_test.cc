#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

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

// With a reservation no other job could delay it; none delays what waits for a node.
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

// The same where CPU is asked for too: what is claimed is closed to others that ask for it, and lent to those that end in time.
TEST(Backfilling, KeepsRoomForWhatAsksForMoreThanGpus) {
  Policy policy = plain(Order::kFifoSkip);
  policy.backfill = Backfill::kEasy;
  World world(policy, 1);
  const auto with_cpu = [&](int gpus, int64_t seconds) {
    JobSpec spec = world.job(gpus);
    Request request;
    request.gpus = gpus;
    request.cpu_milli = 1'000;
    spec.request = world.scheduler.intern(request);
    spec.time_limit = Duration::seconds(seconds);
    return spec;
  };
  const JobId first = world.submit(at(0), with_cpu(4, 100));
  const JobId head = world.submit(at(1), with_cpu(8, 50));
  EXPECT_EQ(world.scheduler.explain(head).standing, Standing::kReserved);
  EXPECT_EQ(world.scheduler.explain(head).starts_at, at(100));
  JobSpec bare = world.job(1);
  bare.time_limit = Duration::seconds(1'000);
  world.submit(at(2), with_cpu(1, 1'000));
  EXPECT_THAT(world.started(), IsEmpty());
  world.submit(at(3), bare);
  EXPECT_THAT(world.started(), IsEmpty());
  const JobId passing = world.submit(at(4), with_cpu(2, 96));  // ends at 100
  EXPECT_THAT(world.started(), ElementsAre(passing));
  world.step(at(100), {event(EventKind::kFinished, first), event(EventKind::kFinished, passing)});
  EXPECT_THAT(world.started(), ElementsAre(head));
}

// GPUs beside a claim of CPU alone are for those who ask for nothing but GPUs.
TEST(Backfilling, AClaimOfCpuLeavesTheGpus) {
  Policy policy = plain(Order::kFifoSkip);
  policy.backfill = Backfill::kEasy;
  World world(policy, 1);
  JobSpec cpus = world.job(1);
  Request request;
  request.cpu_milli = 600'000;  // of 1,000,000
  cpus.request = world.scheduler.intern(request);
  cpus.time_limit = Duration::seconds(100);
  world.submit(at(0), cpus);
  const JobId head = world.submit(at(1), cpus);
  EXPECT_EQ(world.scheduler.explain(head).starts_at, at(100));
  const JobId beside = world.submit(at(2), world.job(8));  // for ever
  EXPECT_THAT(world.started(), ElementsAre(beside));
}

// Explore seed 301599: no job would have been tried again, although nothing ran any more.
TEST(Backfilling, WhoNowGoesFirstDoesNotMindLaterPromises) {
  Policy policy = plain(Order::kFifoSkip);
  policy.backfill = Backfill::kEasy;
  World world(policy, 1);
  const auto limited = [&](int64_t seconds, int32_t priority) {
    JobSpec spec = world.job(8);
    spec.time_limit = Duration::seconds(seconds);
    spec.priority = priority;
    spec.preemptible = false;
    return spec;
  };
  const JobId first = world.submit(at(0), limited(100, 50));
  world.submit(at(1), limited(10, 50));  // reserved from 100 on
  // Both come at 50: it goes first, the room is there, and it would still be there at 100.
  const JobId urgent = world.scheduler.add(limited(1'000, 100));
  world.step(at(50), {event(EventKind::kFinished, first), event(EventKind::kSubmit, urgent)});
  EXPECT_THAT(world.started(), ElementsAre(urgent));
}

TEST(Backfilling, ElasticJobsDoNotGrowIntoWhatIsReserved) {
  Policy policy = plain(Order::kFifo);
  policy.backfill = Backfill::kEasy;
  World world(policy, 2);
  const auto limited = [&](int gpus, int64_t seconds) {
    JobSpec spec = world.job(gpus);
    spec.time_limit = Duration::seconds(seconds);
    return spec;
  };
  const JobId early = world.submit(at(0), limited(4, 50));
  const JobId late = world.submit(at(0), limited(4, 100));
  JobSpec elastic = world.job(1, 16);
  elastic.min_tasks = 1;
  elastic.time_limit = Duration::seconds(1'000);
  world.submit(at(1), elastic);
  const JobId head = world.submit(at(2), limited(8, 50));
  world.step(at(50), {event(EventKind::kFinished, early)});
  EXPECT_THAT(world.last, IsEmpty());
  world.step(at(100), {event(EventKind::kFinished, late)});
  EXPECT_THAT(world.started(), ElementsAre(head));
}

/// What the jobs of a LimitedLife ask for.
enum class Asks : uint8_t { kGpus, kMore };

/// A pool of jobs with limits that end at or before them.
class LimitedLife {
 public:
  LimitedLife(Backfill backfill, Asks asks, uint64_t seed) : asks_(asks), random_(seed), world_(policy(backfill), 5) {}

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
    if (asks_ == Asks::kMore && random_.below(2) == 0) spec.request = ask_for_more();
    const auto limit = static_cast<int64_t>(5 + random_.below(random_.below(3) == 0 ? 400 : 60));
    spec.time_limit = Duration::seconds(limit);
    durations_.push_back(random_.below(2) == 0 ? limit : 1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(limit))));
    ends_.push_back(-1);
    promised_.push_back(INT64_MAX);
    return world_.scheduler.add(spec);
  }

  /// CPU beside the GPUs, or alone, or half a GPU.
  RequestId ask_for_more() {
    Request request;
    const uint64_t kind = random_.below(3);
    if (kind == 0) request.gpus = static_cast<int32_t>(1 + random_.below(4));
    if (kind == 1) request.milli = 500;
    request.cpu_milli = static_cast<int64_t>(100'000 * (1 + random_.below(6)));  // of 1,000,000
    return world_.scheduler.intern(request);
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

  Asks asks_;
  Prng random_;
  World world_;
  std::vector<int64_t> durations_;
  std::vector<int64_t> ends_;
  std::vector<int64_t> promised_;
};

TEST(Backfilling, BackfillNeverDelaysTheReservedJob) {
  for (const Backfill backfill : {Backfill::kEasy, Backfill::kConservative}) {
    for (const Asks asks : {Asks::kGpus, Asks::kMore}) {
      int backfilled = 0;
      for (uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(testing::Message() << name_of(backfill) << (asks == Asks::kMore ? ", more than GPUs" : "") << ", seed "
                                        << seed);
        LimitedLife life(backfill, asks, seed);
        life.run();
        if (testing::Test::HasFatalFailure()) return;
        backfilled += life.backfilled;
      }
      EXPECT_GT(backfilled, 100);
    }
  }
}

TEST(Backfill, ASharedGpuIsFreeWhenTheLastOfItsSharersHasLeft) {
  Policy policy = plain(Order::kFifo);
  policy.backfill = Backfill::kEasy;
  World world(policy, 1, 1);
  for (const int64_t seconds : {100, 200}) {
    Request half;
    half.milli = 500;
    JobSpec spec = world.job(1);
    spec.request = world.scheduler.intern(half);
    spec.time_limit = Duration::seconds(seconds);
    EXPECT_TRUE(world.runs(world.submit(at(0), spec)));
  }
  const Explanation why = world.scheduler.explain(world.submit(at(1), world.job(1)));
  EXPECT_EQ(why.standing, Standing::kReserved);
  EXPECT_EQ(why.starts_at, at(200));
}

/// Two nodes of eight are full of jobs of one GPU that run for two hours each, and 22 come in an hour where 8 can end. None says
/// how long it runs, none can save its work. A gang of two nodes comes after an hour, in a queue in which nothing runs.
class EndlessStream : public ::testing::TestWithParam<std::tuple<Order, bool>> {
 protected:
  EndlessStream() : world_(policy(), 2) {
    QueueSpec own;
    own.name = "own";
    JobSpec gang = one(8);
    gang.tasks = gang.min_tasks = 2;
    gang.queue = world_.scheduler.add_queue(own);
    gang_ = world_.scheduler.add(gang);
  }
  static Policy policy() {
    Policy p;
    p.order = std::get<0>(GetParam());
    return p;
  }
  JobSpec one(int gpus) {
    JobSpec spec = world_.job(gpus);
    Request request;
    request.gpus = gpus;
    request.cpu_milli = std::get<1>(GetParam()) ? 1'000 : 0;
    spec.request = world_.scheduler.intern(request);
    spec.checkpoint = {};
    return spec;
  }
  /// Minute by minute. @return hours that the gang has waited when it starts; none = longer than a day.
  std::optional<double> wait_of_gang(Duration run_time) {
    std::vector<std::pair<Instant, JobId>> ends;
    for (int64_t minute = 0; minute < 26 * 60; ++minute) {
      const Instant now = at(60 * minute);
      std::vector<Event> events;
      std::erase_if(ends, [&](const auto& e) {
        if (e.first > now) return false;
        events.push_back(event(EventKind::kFinished, e.second));
        return true;
      });
      if (minute == 60) events.push_back(event(EventKind::kSubmit, gang_));
      if (minute % 5 == 0) events.push_back(event(EventKind::kSubmit, world_.scheduler.add(one(1))));
      if (minute % 6 == 0) events.push_back(event(EventKind::kSubmit, world_.scheduler.add(one(1))));
      world_.step(now, std::move(events));
      for (const JobId j : world_.started()) {
        if (j == gang_) return static_cast<double>(minute - 60) / 60;
        ends.emplace_back(now + run_time, j);
      }
    }
    return std::nullopt;
  }
  World world_;
  JobId gang_;
};

TEST_P(EndlessStream, DoesNotPassAGangForLong) {
  const std::optional<double> waited = wait_of_gang(Duration::hours(2));
  ASSERT_TRUE(waited);
  EXPECT_GT(*waited, 4);  // as long others pass
  EXPECT_LT(*waited, 8);  // then room is kept, for those two hours and what the guesses miss
}

// Room is not kept for longer than the gang has waited: what runs for days may leave the GPUs beside it idle for days.
TEST_P(EndlessStream, PassesAsLongAsItsEndIsFar) {
  std::vector<JobId> started;
  for (int i = 0; i < 15; ++i)
    world_.submit(at(0), one(1));
  const Instant ten_days = at(10 * 24 * 3600);
  world_.step(ten_days, {event(EventKind::kSubmit, gang_)});
  world_.step(ten_days + Duration::hours(5), {});
  const JobId passes = world_.submit(ten_days + Duration::hours(6), one(1));
  EXPECT_TRUE(world_.runs(passes));
}

INSTANTIATE_TEST_SUITE_P(Backfilling, EndlessStream,
                         ::testing::Combine(::testing::Values(Order::kFair, Order::kStint, Order::kFifoSkip), ::testing::Bool()));

}  // namespace
}  // namespace stint::sched
