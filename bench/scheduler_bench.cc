// How long a decision takes, and how many jobs a second go through the scheduler.
//
//   Decide/QUEUED      10,000 nodes × 8 GPUs, all busy, QUEUED jobs waiting (1–16 GPUs, 100 queues, order stint with EASY
//                      reservations): one job ends, the scheduler decides what starts and who is stopped. Time is the mean
//                      step; p50, p99 and max are of decisions (a step's time shared among what it decided).
//   KueueShape         50,000 jobs in 1,000 queues of 10 cohorts at once: Kueue's large-scale load (per queue 40 small, 7
//                      medium, 3 large jobs of 1, 5 and 20 units, quota 20, at most 100 borrowed), until all have run.
//   Pool/ORDER         a generated trace on 1,000 nodes with 200 users at load 0.9 through sim::replay_queue; 0 fifo,
//                      2 sjf-oracle, 4 fair, 5 stint; Reserved: stint with time limits and EASY reservations as well.
//
//   build/release/bench/scheduler_bench --benchmark_repetitions=3
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <queue>

#include "base/prng.h"
#include "sched/scheduler.h"
#include "sim/job_trace.h"
#include "sim/queue_replay.h"

namespace stint {
namespace {

using namespace sched;
using Clock = std::chrono::steady_clock;

Event event(EventKind kind, JobId job) { return {.kind = kind, .job = job, .task = {}, .node = {}, .until = {}}; }

struct Timing {
  double seconds = 0;
  size_t decisions = 1;
};

/// A full fleet with a long queue: jobs end in the order they started, each end is one step.
class BusyFleet {
 public:
  BusyFleet(int64_t nodes, int64_t queued) : scheduler_(policy()), random_(1) {
    NodeSpec node;
    node.gpus = 8;
    for (int64_t n = 0; n < nodes; ++n)
      scheduler_.add_node(node);
    for (int q = 0; q < 100; ++q)
      queues_.push_back(scheduler_.add_queue({}));
    int64_t waiting = 0;
    while (waiting < queued) {
      now_ = now_ + Duration::milliseconds(200);
      waiting += submit() ? 0 : 1;
    }
  }

  /// The oldest running job ends and another one comes. @return what the step took, and how much it decided.
  Timing step() {
    now_ = now_ + Duration::seconds(1);
    while (!runs(started_[next_]))
      ++next_;
    const Event ended = event(EventKind::kFinished, started_[next_++]);
    const auto begin = Clock::now();
    const auto decisions = scheduler_.step(now_, {&ended, 1});
    const Timing timing = {std::chrono::duration<double>(Clock::now() - begin).count(), std::max<size_t>(1, decisions.size())};
    take(decisions);
    submit();
    return timing;
  }

 private:
  static Policy policy() {
    Policy p;
    p.order = Order::kStint;
    p.backfill = Backfill::kEasy;
    return p;
  }

  [[nodiscard]] bool runs(JobId j) const { return scheduler_.tasks_of(j).front().state == TaskState::kRunning; }

  bool submit() {
    constexpr int32_t kSizes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 16};
    const int32_t gpus = kSizes[random_.below(std::size(kSizes))];
    JobSpec spec;
    Request request;
    request.gpus = std::min(gpus, 8);
    spec.request = scheduler_.intern(request);
    spec.tasks = spec.min_tasks = std::max(1, gpus / 8);
    spec.queue = queues_[random_.below(queues_.size())];
    spec.time_limit = Duration::hours(static_cast<int64_t>(24 + random_.below(200)));
    spec.checkpoint.interval = Duration::minutes(10);  // it may be stopped by rank
    const Event come = event(EventKind::kSubmit, scheduler_.add(spec));
    return take(scheduler_.step(now_, {&come, 1}));
  }

  /// @return whether something started.
  bool take(std::span<const Decision> decisions) {
    std::vector<Event> left;
    bool any = false;
    for (const Decision& d : decisions) {
      if (d.kind == DecisionKind::kStart) {
        any = true;
        started_.push_back(d.job);
      }
      if (d.kind == DecisionKind::kEvict)
        for (const Place& place : d.places)
          left.push_back({.kind = EventKind::kEvicted, .job = {}, .task = place.task, .node = {}, .until = {}});
    }
    return left.empty() ? any : take(scheduler_.step(now_, left));
  }

  Scheduler scheduler_;
  Prng random_;
  std::vector<QueueId> queues_;
  std::vector<JobId> started_;
  size_t next_ = 0;
  Instant now_;
};

void Decide(benchmark::State& state) {
  BusyFleet fleet(10'000, state.range(0));
  std::vector<double> seconds;  // per decision
  for (auto _ : state) {
    const Timing timing = fleet.step();
    state.SetIterationTime(timing.seconds);
    seconds.insert(seconds.end(), timing.decisions, timing.seconds / static_cast<double>(timing.decisions));
  }
  std::sort(seconds.begin(), seconds.end());
  state.counters["p50_us"] = 1e6 * seconds[seconds.size() / 2];
  state.counters["p99_us"] = 1e6 * seconds[seconds.size() * 99 / 100];
  state.counters["max_us"] = 1e6 * seconds.back();
}

/// GPUs stand for Kueue's units; cohorts of 100 queues whose sum of quotas is the limit. Small jobs run 200 ms, medium 500 ms,
/// large 1 s, as in the published configuration.
void KueueShape(benchmark::State& state) {
  constexpr int kCohorts = 10;
  constexpr int kQueuesPerCohort = 100;
  struct Class {
    int32_t units;
    int count;
    int64_t milliseconds;
  };
  constexpr Class kClasses[] = {{1, 40, 200}, {5, 7, 500}, {20, 3, 1000}};
  for (auto _ : state) {
    Policy policy;
    policy.order = Order::kFair;
    policy.backfill = Backfill::kNone;
    Scheduler scheduler(policy);
    NodeSpec node;  // quotas decide, not nodes: one task for each unit
    node.gpus = 16;
    for (int n = 0; n < kCohorts * kQueuesPerCohort * 20 / 16; ++n)
      scheduler.add_node(node);
    Request unit;
    unit.gpus = 1;
    const RequestId request = scheduler.intern(unit);
    std::vector<Event> events;
    for (int c = 0; c < kCohorts; ++c) {
      QueueSpec cohort;
      cohort.limit.gpu_milli = int64_t{kQueuesPerCohort} * 20 * kMilli;
      const QueueId parent = scheduler.add_queue(cohort);
      for (int q = 0; q < kQueuesPerCohort; ++q) {
        QueueSpec queue;
        queue.parent = parent;
        queue.deserved.gpu_milli = 20 * kMilli;
        queue.limit.gpu_milli = 120 * kMilli;
        const QueueId id = scheduler.add_queue(queue);
        for (const Class& k : kClasses)
          for (int i = 0; i < k.count; ++i) {
            JobSpec spec;
            spec.queue = id;
            spec.request = request;
            spec.tasks = spec.min_tasks = k.units;
            spec.expected = Duration::milliseconds(k.milliseconds);
            events.push_back(event(EventKind::kSubmit, scheduler.add(spec)));
          }
      }
    }
    std::priority_queue<std::pair<int64_t, uint32_t>, std::vector<std::pair<int64_t, uint32_t>>, std::greater<>> ends;
    Instant now;
    size_t done = 0;
    while (done < 50'000) {
      for (const Decision& d : scheduler.step(now, events)) {
        if (d.kind != DecisionKind::kStart) continue;
        const Class& k = *std::find_if(std::begin(kClasses), std::end(kClasses),
                                       [&](const Class& c) { return static_cast<size_t>(c.units) == d.places.size(); });
        ends.emplace((now + Duration::milliseconds(k.milliseconds)).ns(), d.job.index());
      }
      CHECK(!ends.empty(), "{} of 50,000 jobs have run and nothing runs", done);
      now = Instant::from_ns(ends.top().first);
      for (events.clear(); !ends.empty() && ends.top().first == now.ns(); ends.pop(), ++done)
        events.push_back(event(EventKind::kFinished, JobId(ends.top().second)));
    }
  }
  state.SetItemsProcessed(state.iterations() * 50'000);
}

sim::JobTraceOptions large_pool() {
  sim::JobTraceOptions options;
  options.jobs = 300'000;
  options.clusters = 1;
  options.nodes = 1000;
  options.users = 200;
  return options;
}

void Pool(benchmark::State& state) {
  static const JobTrace trace = sim::make_job_trace(large_pool());
  sim::QueueReplayOptions options;
  options.policy.order = static_cast<Order>(state.range(0));
  options.nodes = 1000;
  for (auto _ : state)
    benchmark::DoNotOptimize(sim::replay_queue(trace.jobs, trace.users.size(), options).fingerprint);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(trace.jobs.size()));
}

void Reserved(benchmark::State& state) {
  static const JobTrace trace = sim::make_job_trace(large_pool());
  sim::QueueReplayOptions options;
  options.policy.backfill = Backfill::kEasy;
  options.nodes = 1000;
  options.limit_factor = 2;
  for (auto _ : state)
    benchmark::DoNotOptimize(sim::replay_queue(trace.jobs, trace.users.size(), options).fingerprint);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(trace.jobs.size()));
}

BENCHMARK(Decide)->Arg(1000)->Arg(10'000)->Arg(100'000)->UseManualTime()->Iterations(20'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(KueueShape)->Unit(benchmark::kMillisecond);
BENCHMARK(Pool)->Arg(0)->Arg(2)->Arg(4)->Arg(5)->Unit(benchmark::kMillisecond);
BENCHMARK(Reserved)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint
