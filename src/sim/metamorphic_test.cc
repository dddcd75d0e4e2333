// What must not matter, does not: the unit of time. What must not hurt, does not: another machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "sched/scheduler.h"
#include "sim/replay.h"

namespace stint::sim {
namespace {

const Instant kBegin = Instant::from_seconds(1'000'000);

// Nodes of mixed sizes, gangs, two queues, a load at which jobs wait.
Workload random_workload(uint64_t seed, int64_t widest) {
  Prng random(seed);
  Workload w;
  w.queues = {{.name = "a"}, {.name = "b"}};
  for (const int32_t gpus : {1, 2, 4})
    w.requests.push_back({.gpus = gpus});
  for (int n = 0; n < 6; ++n) {
    SimNode& node = w.nodes.emplace_back();
    node.node.name = "n" + std::to_string(n);
    node.node.gpus = n % 2 == 0 ? 4 : 8;
    node.rate = Rate::per_hour(Money::units(3));
  }
  Instant at = kBegin;
  for (int j = 0; j < 300; ++j) {
    SimJob& job = w.jobs.emplace_back();
    at = at + Duration::seconds(1 + static_cast<int64_t>(random.below(240)));
    job.spec.submitted = at;
    job.spec.queue = sched::QueueId(static_cast<uint32_t>(random.below(2)));
    job.spec.request = sched::RequestId(static_cast<uint32_t>(random.below(static_cast<uint64_t>(widest))));
    if (widest > 1) job.spec.tasks = job.spec.min_tasks = 1 + static_cast<int32_t>(random.below(3));
    job.run_time = Duration::seconds(60 + static_cast<int64_t>(random.below(7'200)));
    job.spec.expected = job.run_time;
  }
  return w;
}

std::vector<Duration> ends(const Workload& w, sched::Order order, sched::Backfill backfill) {
  sched::Policy policy;
  policy.order = order;
  policy.backfill = backfill;
  policy.usage_half_life = Duration();
  sched::Scheduler scheduler(policy);
  std::vector<Duration> found;
  for (const JobOutcome& job : replay(scheduler, w).jobs) {
    EXPECT_EQ(job.ending, JobEnding::kSucceeded);
    found.push_back(job.ended - kBegin);
  }
  return found;
}

constexpr sched::Order kOrders[] = {sched::Order::kFifo, sched::Order::kFifoSkip, sched::Order::kSjfOracle, sched::Order::kFair};
constexpr sched::Backfill kBackfills[] = {sched::Backfill::kNone, sched::Backfill::kEasy, sched::Backfill::kConservative};

TEST(Metamorphic, ThreeTimesAsSlowTakesThreeTimesAsLong) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Workload w = random_workload(seed, 3);
    Workload slow = w;
    for (SimJob& job : slow.jobs) {
      job.spec.submitted = kBegin + (job.spec.submitted - kBegin) * 3;
      job.run_time = job.spec.expected = job.run_time * 3;
    }
    for (const sched::Order order : kOrders)
      for (const sched::Backfill backfill : kBackfills) {
        std::vector<Duration> expected = ends(w, order, backfill);
        for (Duration& d : expected)
          d = d * 3;
        EXPECT_EQ(ends(slow, order, backfill), expected) << "seed " << seed << " " << name_of(order) << " " << name_of(backfill);
      }
  }
}

// Jobs of one GPU each, first come, first served, none stopped: every job starts when the k-th oldest GPU is free, so with
// more GPUs none starts later. With gangs, dependencies or other orders theory promises no such thing (Graham 1969).
TEST(Metamorphic, AnotherMachineMakesNoJobOfOneGpuLater) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Workload w = random_workload(seed, 1);
    w.nodes.resize(2);
    Workload more = w;
    more.nodes.push_back(more.nodes[0]);
    more.nodes.back().node.name = "one more";
    for (const sched::Order order : {sched::Order::kFifo, sched::Order::kFifoSkip}) {
      const std::vector<Duration> before = ends(w, order, sched::Backfill::kNone);
      const std::vector<Duration> after = ends(more, order, sched::Backfill::kNone);
      for (size_t j = 0; j < before.size(); ++j)
        EXPECT_LE(after[j], before[j]) << "seed " << seed << " job " << j;
    }
  }
}

}  // namespace
}  // namespace stint::sim
