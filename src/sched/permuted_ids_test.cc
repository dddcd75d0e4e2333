// What jobs are called must not matter: with submissions, priorities and durations that never tie, the ids in which jobs are
// added decide nothing.
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
  Life(const Policy& policy, const std::vector<Submission>& jobs, const std::vector<size_t>& added)
      : world_(policy, 3), jobs_(jobs), ids_(jobs.size()), left_(jobs.size()), ends_(jobs.size(), kNever) {
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
    std::vector<size_t> added(jobs.size());
    std::iota(added.begin(), added.end(), 0);
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

}  // namespace
}  // namespace stint::sched
