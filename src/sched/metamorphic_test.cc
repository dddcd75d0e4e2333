// What a change of the input must do to the result, whatever the result is: ids decide nothing where nothing ties, time that runs
// at another scale yields the same life at that scale, and a machine more makes no job end later where jobs ask for one GPU each.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::event;
using testing_world::World;

struct Submission {
  Instant at;
  Duration run_time;
  int gpus = 1;
  int tasks = 1;
  int milli = 0;
  int priority = 0;
  bool other_queue = false;
};

std::vector<size_t> in_order(size_t jobs) {
  std::vector<size_t> order(jobs);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<Submission> random_submissions(uint64_t seed) {
  Prng random(seed);
  constexpr int kGpus[] = {1, 1, 2, 4, 8};
  std::vector<Submission> jobs;
  Instant at = testing_world::at(1'000'000);
  for (int j = 0; j < 60; ++j) {
    at = at + Duration::nanoseconds(1 + static_cast<int64_t>(random.below(400'000'000'000)));
    jobs.push_back({.at = at,
                    .run_time = Duration::nanoseconds(1 + static_cast<int64_t>(random.below(9'000'000'000'000))),
                    .gpus = kGpus[random.below(std::size(kGpus))],
                    .tasks = static_cast<int>(1 + random.below(2)),
                    .milli = random.below(6) == 0 ? 300 : 0,
                    .priority = (j * 37) % 61,
                    .other_queue = random.below(2) == 0});
  }
  return jobs;
}

/// Runs the jobs, added in the given order; who is stopped keeps its work and leaves after 20 s. @return when each has ended.
class Life {
 public:
  Life(const Policy& policy, const std::vector<Submission>& jobs, const std::vector<size_t>& added, int nodes = 3)
      : world_(policy, nodes), jobs_(jobs), ids_(jobs.size()), left_(jobs.size()), ends_(jobs.size(), kNever) {
    QueueSpec owner;
    owner.deserved.gpu_milli = 12'000;
    owner.created = 1;
    const QueueId other = world_.scheduler.add_queue(owner);
    for (const size_t j : added) {
      const Submission& job = jobs[j];
      JobSpec spec = world_.job(job.gpus, job.tasks);
      if (job.milli > 0) {
        Request part;
        part.milli = job.milli;
        spec.request = world_.scheduler.intern(part);
      }
      if (job.other_queue) spec.queue = other;
      spec.priority = job.priority;
      spec.expected = left_[j] = job.run_time;
      ids_[j] = world_.scheduler.add(spec);
      which_.push_back(j);
    }
  }

  std::vector<Instant> run() {
    std::vector<Instant> ended(jobs_.size(), kNever);
    Instant now = jobs_[0].at;
    for (int steps = 0; steps < 20'000; ++steps) {
      std::vector<Event> events;
      Instant next = kNever;
      const auto due = [&](Instant at) {
        if (at > now) next = std::min(next, at);
        return at == now;
      };
      for (size_t j = 0; j < jobs_.size(); ++j) {
        if (due(jobs_[j].at)) events.push_back(event(EventKind::kSubmit, ids_[j]));
        if (!due(ends_[j])) continue;
        events.push_back(event(EventKind::kFinished, ids_[j]));
        ended[j] = std::exchange(ends_[j], kNever);
      }
      for (const Leaving& task : std::exchange(leaving_, {})) {
        if (due(task.at))
          events.push_back({.kind = EventKind::kEvicted, .job = {}, .task = task.task, .node = {}, .until = {}});
        else
          leaving_.push_back(task);
      }
      world_.step(now, events);
      carry_out(now);
      for (size_t j = 0; j < jobs_.size(); ++j)
        due(ends_[j]);
      for (const Leaving& task : leaving_)
        due(task.at);
      due(world_.scheduler.next_wakeup());
      if (next == kNever) break;
      now = next;
    }
    return ended;
  }

 private:
  struct Leaving {
    Instant at;
    TaskId task;
  };
  void carry_out(Instant now) {
    for (const World::Decided& d : world_.last) {
      const size_t j = which_[d.job.index()];
      if (d.kind == DecisionKind::kStart) ends_[j] = now + left_[j];
      if (d.kind != DecisionKind::kEvict) continue;
      left_[j] = std::exchange(ends_[j], kNever) - now;
      for (const Place& place : d.places)
        leaving_.push_back({.at = now + Duration::seconds(20), .task = place.task});
    }
  }

  World world_;
  const std::vector<Submission>& jobs_;
  std::vector<JobId> ids_;
  std::vector<size_t> which_;  // by id
  std::vector<Duration> left_;
  std::vector<Instant> ends_;
  std::vector<Leaving> leaving_;
};

TEST(PermutedIds, DecideNothingWhereNothingTies) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const std::vector<Submission> jobs = random_submissions(seed);
    const std::vector<size_t> added = in_order(jobs.size());
    std::vector<size_t> permuted = added;
    Prng random(seed + 100);
    for (size_t i = permuted.size(); i-- > 1;)
      std::swap(permuted[i], permuted[random.below(i + 1)]);
    for (const Order order : {Order::kFifo, Order::kFifoSkip, Order::kSjfOracle, Order::kSrtf, Order::kFair, Order::kStint}) {
      for (const Backfill backfill : {Backfill::kNone, Backfill::kEasy, Backfill::kConservative}) {
        SCOPED_TRACE(testing::Message() << name_of(order) << ", " << name_of(backfill) << ", seed " << seed);
        Policy policy;
        policy.order = order;
        policy.backfill = backfill;
        policy.consolidate = false;  // what moves cost is compared in whole GPU-seconds, and so ties
        const std::vector<Instant> ended = Life(policy, jobs, added).run();
        EXPECT_EQ(std::ranges::count(ended, kNever), 0) << "all of them end";
        EXPECT_EQ(Life(policy, jobs, permuted).run(), ended);
      }
    }
  }
}

TEST(ScaledTime, ScalesTheResult) {
  constexpr int64_t kScale = 3;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    std::vector<Submission> jobs = random_submissions(seed);
    for (Submission& job : jobs) {  // none is stopped: how long that takes, and how soon it may be, are further times
      job.priority = 0;
      job.other_queue = false;
    }
    std::vector<Submission> slower = jobs;
    for (Submission& job : slower) {
      job.at = testing_world::at(0) + (job.at - testing_world::at(0)) * kScale;
      job.run_time = job.run_time * kScale;
    }
    for (const Order order : {Order::kFifo, Order::kFifoSkip, Order::kSjfOracle}) {  // orders with no times besides
      for (const Backfill backfill : {Backfill::kNone, Backfill::kEasy, Backfill::kConservative}) {
        SCOPED_TRACE(testing::Message() << name_of(order) << ", " << name_of(backfill) << ", seed " << seed);
        Policy policy;
        policy.order = order;
        policy.backfill = backfill;
        policy.consolidate = false;
        const std::vector<Instant> ended = Life(policy, jobs, in_order(jobs.size())).run();
        std::vector<Instant> expected;
        for (const Instant end : ended)
          expected.push_back(testing_world::at(0) + (end - testing_world::at(0)) * kScale);
        EXPECT_EQ(Life(policy, slower, in_order(jobs.size())).run(), expected);
      }
    }
  }
}

// Jobs of one GPU in one line are served as by as many equal servers: the work ahead of each on the least loaded ones can only
// fall with a server more (Kiefer and Wolfowitz 1955). For gangs it need not hold (Graham 1969).
TEST(AddedNode, MakesNoJobOfOneGpuEndLater) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    std::vector<Submission> jobs = random_submissions(seed);
    for (Submission& job : jobs) {
      job.gpus = 1;
      job.tasks = 1;
      job.milli = 0;
      job.priority = 0;
      job.other_queue = false;
      job.run_time = job.run_time * 20;  // so that they wait
    }
    Policy policy;
    policy.order = Order::kFifo;
    const std::vector<Instant> before = Life(policy, jobs, in_order(jobs.size()), 1).run();
    const std::vector<Instant> after = Life(policy, jobs, in_order(jobs.size()), 2).run();
    bool sooner = false;
    for (size_t j = 0; j < jobs.size(); ++j) {
      EXPECT_LE(after[j], before[j]) << "job " << j << ", seed " << seed;
      sooner = sooner || after[j] < before[j];
    }
    EXPECT_TRUE(sooner) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stint::sched
