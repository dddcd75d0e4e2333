// The replay against a second, naive simulator: no heaps, no buckets, no groups — every list is sorted and walked anew at
// every event.
#include "sim/queue_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/prng.h"
#include "sim/job_trace.h"

namespace stint::sim {
namespace {

using sched::Order;

class NaivePool {
 public:
  NaivePool(int64_t nodes, int32_t gpus_per_node) : free_(static_cast<size_t>(nodes), gpus_per_node), full_(gpus_per_node) {}

  /// What the job takes from each node, or nothing.
  [[nodiscard]] std::optional<std::vector<int32_t>> find(int32_t gpus) const {
    std::vector<int32_t> take(free_.size());
    std::vector<int32_t> left = free_;
    for (int32_t wanted = gpus; wanted > 0;) {
      const int32_t here = std::min(wanted, full_);
      size_t best = free_.size();
      for (size_t n = 0; n < left.size(); ++n)
        if (left[n] >= here && (best == free_.size() || left[n] < left[best])) best = n;
      if (best == free_.size()) return std::nullopt;
      take[best] += here;
      left[best] -= here;
      wanted -= here;
    }
    return take;
  }
  void change(const std::vector<int32_t>& take, int32_t sign) {
    for (size_t n = 0; n < free_.size(); ++n)
      free_[n] -= sign * take[n];
  }

 private:
  std::vector<int32_t> free_;
  int32_t full_;
};

struct NaiveJob {
  bool waits = false;
  bool runs = false;
  Instant end;
  Duration left;
  Instant since;
  std::vector<int32_t> take;
};

class NaiveReplay {
 public:
  NaiveReplay(const std::vector<TraceJob>& jobs, const QueueReplayOptions& options)
      : trace_(jobs),
        order_(options.policy.order),
        pool_(options.nodes, options.gpus_per_node),
        jobs_(jobs.size()),
        outcome_(jobs.size()),
        age_(jobs.size()) {
    std::vector<size_t> by_age(jobs.size());
    std::iota(by_age.begin(), by_age.end(), size_t{0});
    std::stable_sort(by_age.begin(), by_age.end(), [&](size_t a, size_t b) { return jobs[a].submitted < jobs[b].submitted; });
    for (size_t i = 0; i < by_age.size(); ++i)
      age_[by_age[i]] = i;
  }

  std::vector<QueuedJob> run() {
    for (size_t left = jobs_.size(); left > 0;) {
      const Instant now = next_event();
      for (size_t j = 0; j < jobs_.size(); ++j) {
        if (!jobs_[j].runs || jobs_[j].end != now) continue;
        stop(j);
        outcome_[j].completion = now - trace_[j].submitted;
        --left;
      }
      for (size_t j = 0; j < jobs_.size(); ++j) {
        if (arrived_[j] || trace_[j].submitted != now) continue;
        arrived_[j] = true;
        jobs_[j] = {.waits = true, .runs = false, .end = {}, .left = trace_[j].duration, .since = now, .take = {}};
      }
      schedule(now);
    }
    return outcome_;
  }

 private:
  [[nodiscard]] Instant next_event() const {
    Instant next = sched_never();
    for (size_t j = 0; j < jobs_.size(); ++j) {
      if (!arrived_[j]) next = std::min(next, trace_[j].submitted);
      if (jobs_[j].runs) next = std::min(next, jobs_[j].end);
    }
    return next;
  }
  static Instant sched_never() { return Instant::from_ns(INT64_MAX); }

  void schedule(Instant now) {
    std::vector<size_t> waiting;
    for (size_t j = 0; j < jobs_.size(); ++j)
      if (jobs_[j].waits) waiting.push_back(j);
    std::sort(waiting.begin(), waiting.end(), [&](size_t a, size_t b) {
      if (order_ != Order::kFifo && order_ != Order::kFifoSkip && jobs_[a].left != jobs_[b].left)
        return jobs_[a].left < jobs_[b].left;
      return age_[a] < age_[b];
    });
    for (const size_t j : waiting) {
      auto take = pool_.find(trace_[j].gpus);
      if (!take && (order_ == Order::kFifo || order_ == Order::kSjfOracle)) return;
      if (take) start(j, std::move(*take), now);
    }
  }

  void start(size_t j, std::vector<int32_t> take, Instant now) {
    NaiveJob& job = jobs_[j];
    outcome_[j].queue += now - job.since;
    pool_.change(take, 1);
    job.take = std::move(take);
    job.waits = false;
    job.runs = true;
    job.end = now + job.left;
  }
  void stop(size_t j) {
    pool_.change(jobs_[j].take, -1);
    jobs_[j].runs = false;
  }

  const std::vector<TraceJob>& trace_;
  Order order_;
  NaivePool pool_;
  std::vector<NaiveJob> jobs_;
  std::vector<QueuedJob> outcome_;
  std::vector<size_t> age_;
  std::vector<bool> arrived_ = std::vector<bool>(jobs_.size());
};

std::vector<TraceJob> random_jobs(uint64_t seed, size_t count) {
  Prng random(seed);
  std::vector<TraceJob> jobs(count);
  for (TraceJob& job : jobs) {
    // Whole seconds from small ranges: many events fall together.
    job.submitted = Instant::from_seconds(static_cast<int64_t>(random.below(count * 3)));
    job.duration = Duration::seconds(static_cast<int64_t>(random.below(5) == 0 ? random.below(600) : random.below(40)));
    constexpr int32_t kSizes[] = {1, 1, 1, 1, 2, 2, 3, 4, 8, 8, 12, 16, 21};
    job.gpus = kSizes[random.below(std::size(kSizes))];
  }
  return jobs;
}

class AgainstNaive : public testing::TestWithParam<Order> {};

TEST_P(AgainstNaive, EveryJobEndsAtTheSameInstant) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::vector<TraceJob> jobs = random_jobs(seed, 400);
    QueueReplayOptions options;
    options.policy.order = GetParam();
    options.nodes = 3 + static_cast<int64_t>(seed % 3);
    const PoolOutcome outcome = replay_queue(jobs, 0, options);
    const std::vector<QueuedJob> naive = NaiveReplay(jobs, options).run();
    for (size_t j = 0; j < jobs.size(); ++j) {
      ASSERT_EQ(outcome.jobs[j].completion.count_ns(), naive[j].completion.count_ns()) << "job " << j;
      ASSERT_EQ(outcome.jobs[j].queue.count_ns(), naive[j].queue.count_ns()) << "job " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(QueueReplay, AgainstNaive, testing::Values(Order::kFifo, Order::kFifoSkip, Order::kSjfOracle),
                         [](const auto& tested) {
                           std::string name(name_of(tested.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TraceJob job_at(int64_t submitted_s, int64_t duration_s, int32_t gpus) {
  TraceJob job;
  job.submitted = Instant::from_seconds(submitted_s);
  job.duration = Duration::seconds(duration_s);
  job.gpus = gpus;
  return job;
}

std::vector<int64_t> completions(const std::vector<TraceJob>& jobs, Order order, int64_t nodes) {
  QueueReplayOptions options;
  options.policy.order = order;
  options.nodes = nodes;
  std::vector<int64_t> seconds;
  for (const QueuedJob& job : replay_queue(jobs, 0, options).jobs)
    seconds.push_back(job.completion.whole_seconds());
  return seconds;
}

TEST(QueueReplay, FifoBlocksAtTheFirstThatDoesNotFit) {
  // One node: 6 GPUs busy until 100; the 4-GPU job waits for them, and the small one behind it waits too.
  const std::vector<TraceJob> jobs = {job_at(0, 100, 6), job_at(10, 50, 4), job_at(20, 5, 1)};
  EXPECT_EQ(completions(jobs, Order::kFifo, 1), (std::vector<int64_t>{100, 140, 85}));
  EXPECT_EQ(completions(jobs, Order::kFifoSkip, 1), (std::vector<int64_t>{100, 140, 5}));
}

TEST(QueueReplay, ShortestFirstLetsALaterShortJobPass) {
  const std::vector<TraceJob> jobs = {job_at(0, 100, 8), job_at(10, 50, 8), job_at(20, 5, 8)};
  EXPECT_EQ(completions(jobs, Order::kSjfOracle, 1), (std::vector<int64_t>{100, 145, 85}));
}

TEST(QueueReplay, LargeJobsNeedWholeNodesAndOneMoreForTheRest) {
  // 12 GPUs = one whole node and 4 on another: with one GPU busy on each of the two nodes there is no whole one.
  const std::vector<TraceJob> jobs = {job_at(0, 100, 5), job_at(0, 30, 5), job_at(1, 10, 12)};
  EXPECT_EQ(completions(jobs, Order::kFifo, 2), (std::vector<int64_t>{100, 30, 109}));
  const std::vector<TraceJob> with_room = {job_at(0, 100, 4), job_at(1, 10, 12)};
  EXPECT_EQ(completions(with_room, Order::kFifo, 2), (std::vector<int64_t>{100, 10}));
}

TEST(QueueReplay, SameInputSameFingerprint) {
  const std::vector<TraceJob> jobs = random_jobs(7, 300);
  QueueReplayOptions options;
  options.nodes = 4;
  for (const Order order : {Order::kFifo, Order::kFair, Order::kStint}) {
    options.policy.order = order;
    EXPECT_EQ(replay_queue(jobs, 0, options).fingerprint, replay_queue(jobs, 0, options).fingerprint);
  }
}

TEST(QueueReplay, NodesFollowMeanDemandAndTheLargestJob) {
  // 2 × 4 GPUs × 1,000 s in 1,000 s = 8 GPUs on average: 1 node; × 1.2 → 2 nodes; a 20-GPU job needs 3.
  std::vector<TraceJob> jobs = {job_at(0, 1000, 4), job_at(1000, 1000, 4)};
  EXPECT_EQ(nodes_for(jobs, 8, 1.0), 1);
  EXPECT_EQ(nodes_for(jobs, 8, 1.2), 2);
  jobs.push_back(job_at(500, 0, 20));
  EXPECT_EQ(nodes_for(jobs, 8, 1.0), 3);
}

/// Textbook SRTF on single-GPU nodes: those with the least left run, at every instant.
std::vector<int64_t> textbook_srtf(const std::vector<TraceJob>& jobs, size_t machines) {
  std::vector<int64_t> left(jobs.size());
  std::vector<int64_t> completion(jobs.size());
  for (size_t j = 0; j < jobs.size(); ++j)
    left[j] = jobs[j].duration.whole_seconds();
  size_t done = 0;
  for (int64_t now = 0; done < jobs.size(); ++now) {
    std::vector<size_t> here;
    for (size_t j = 0; j < jobs.size(); ++j)
      if (jobs[j].submitted.seconds() <= now && left[j] > 0) here.push_back(j);
    std::sort(here.begin(), here.end(), [&](size_t a, size_t b) { return std::pair(left[a], a) < std::pair(left[b], b); });
    for (size_t i = 0; i < std::min(machines, here.size()); ++i) {
      if (--left[here[i]] > 0) continue;
      completion[here[i]] = now + 1 - jobs[here[i]].submitted.seconds();
      ++done;
    }
  }
  return completion;
}

TEST(QueueReplay, SrtfOnSingleGpuNodesIsTheTextbookOne) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Prng random(seed);
    std::vector<TraceJob> jobs;
    for (int64_t j = 0; j < 80; ++j)
      jobs.push_back(job_at(static_cast<int64_t>(random.below(1500)), 1 + static_cast<int64_t>(random.below(90)), 1));
    std::sort(jobs.begin(), jobs.end(), [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
    QueueReplayOptions options;
    options.policy.order = Order::kSrtf;
    options.gpus_per_node = 1;
    options.nodes = 2;
    int64_t total = 0;
    for (const QueuedJob& job : replay_queue(jobs, 0, options).jobs)
      total += job.completion.whole_seconds();
    // Which of two with the same left goes first is free; the sum is not.
    const std::vector<int64_t> textbook = textbook_srtf(jobs, 2);
    EXPECT_EQ(total, std::accumulate(textbook.begin(), textbook.end(), int64_t{0}));
  }
}

QueueReplayOptions on_nodes(Order order, int64_t nodes) {
  QueueReplayOptions options;
  options.policy.order = order;
  options.nodes = nodes;
  return options;
}

double mean_of_largest(const std::vector<TraceJob>& jobs, const PoolOutcome& outcome) {
  double sum = 0;
  double count = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].gpus < 64) continue;
    sum += outcome.jobs[j].completion.to_seconds();
    ++count;
  }
  return sum / count;
}

TEST(QueueReplay, StintClosesTheGapBetweenFifoAndTheOracleAtNoJobsCost) {
  for (const double load : {0.8, 0.95}) {
    for (uint64_t seed = 11; seed <= 13; ++seed) {
      SCOPED_TRACE(testing::Message() << "load " << load << ", seed " << seed);
      JobTraceOptions trace;
      trace.seed = seed;
      trace.jobs = 12'000;
      trace.clusters = 1;
      trace.load = load;
      const std::vector<TraceJob> jobs = make_job_trace(trace).jobs;
      const PoolOutcome fifo = replay_queue(jobs, 0, on_nodes(Order::kFifo, trace.nodes));
      const PoolOutcome stint = replay_queue(jobs, 0, on_nodes(Order::kStint, trace.nodes));
      const QueueSummary f = summarise(fifo.jobs);
      const QueueSummary s = summarise(stint.jobs);
      const QueueSummary oracle = summarise(replay_queue(jobs, 0, on_nodes(Order::kSjfOracle, trace.nodes)).jobs);
      EXPECT_GE(f.completion_s_mean - s.completion_s_mean, 0.8 * (f.completion_s_mean - oracle.completion_s_mean));
      EXPECT_LE(s.completion_s_p99, f.completion_s_p99);
      EXPECT_LE(mean_of_largest(jobs, stint), mean_of_largest(jobs, fifo));
      EXPECT_GT(s.evictions, 0);
    }
  }
}

/// Users and names, a quarter to a half of the machines that the jobs would need.
JobTraceOptions scarce(uint64_t seed, int64_t nodes) {
  JobTraceOptions options;
  options.seed = seed;
  options.jobs = 12'000;
  options.clusters = 1;
  options.nodes = nodes;
  options.load = 0.9 * 40 / static_cast<double>(nodes);
  options.max_gpus = 64;
  options.users = 40;
  options.kinds = 10;
  return options;
}

TEST(QueueReplay, LearntDurationsCloseMostOfTheGapAtNoJobsCost) {
  for (const int64_t nodes : {10, 20})
    for (uint64_t seed = 11; seed <= 13; ++seed) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, seed " << seed);
      const JobTrace trace = make_job_trace(scarce(seed, nodes));
      const std::vector<TraceJob>& jobs = trace.jobs;
      QueueReplayOptions options = on_nodes(Order::kStint, nodes);
      options.users_share = false;
      const QueueSummary without = summarise(replay_queue(jobs, trace.users.size(), options).jobs);
      options.policy.durations = sched::Durations::kLearnt;
      const QueueSummary learnt = summarise(replay_queue(jobs, trace.users.size(), options).jobs);
      const QueueSummary fifo = summarise(replay_queue(jobs, 0, on_nodes(Order::kFifo, nodes)).jobs);
      const QueueSummary oracle = summarise(replay_queue(jobs, 0, on_nodes(Order::kSjfOracle, nodes)).jobs);
      EXPECT_GE(fifo.completion_s_mean - learnt.completion_s_mean, 0.95 * (fifo.completion_s_mean - oracle.completion_s_mean));
      EXPECT_LT(learnt.completion_s_mean, without.completion_s_mean);
      EXPECT_LE(learnt.completion_s_p99, fifo.completion_s_p99);
      EXPECT_LE(learnt.large_completion_s_mean, fifo.large_completion_s_mean);
    }
}

/// All that ends by the middle of the replay ends at the same instant whatever is to come: how long a job runs is learnt when it has
/// ended. The oracle, which is told, is the control.
TEST(QueueReplay, NothingIsLearntBeforeItHasHappened) {
  const JobTrace trace = make_job_trace(scarce(21, 20));
  QueueReplayOptions options = on_nodes(Order::kStint, 20);
  options.policy.durations = sched::Durations::kLearnt;
  const auto differs_before = [&](const QueueReplayOptions& with) {
    const PoolOutcome first = replay_queue(trace.jobs, trace.users.size(), with);
    std::vector<Instant> ends;
    for (size_t j = 0; j < trace.jobs.size(); ++j)
      ends.push_back(trace.jobs[j].submitted + first.jobs[j].completion);
    std::vector<Instant> sorted = ends;
    std::ranges::sort(sorted);
    const Instant middle = sorted[sorted.size() / 2];
    std::vector<TraceJob> others = trace.jobs;
    for (size_t j = 0; j < others.size(); ++j)
      if (ends[j] > middle) others[j].duration = others[j].duration * (1 + static_cast<int64_t>(j * 7919 % 50));
    const PoolOutcome second = replay_queue(others, trace.users.size(), with);
    for (size_t j = 0; j < others.size(); ++j)
      if (ends[j] <= middle && second.jobs[j].completion != first.jobs[j].completion) return true;
    return false;
  };
  EXPECT_FALSE(differs_before(options));
  EXPECT_TRUE(differs_before(on_nodes(Order::kSjfOracle, 20)));
}

TEST(QueueReplay, EvictionsCostTheirRestart) {
  // One node. The long job has run 1,000 s (above its first level) when a short one asks for the whole node; it goes on when
  // that has ended, and holds the node for 60 s before it does useful work again.
  const std::vector<TraceJob> jobs = {job_at(0, 10'000, 8), job_at(1000, 100, 8)};
  const PoolOutcome outcome = replay_queue(jobs, 0, on_nodes(Order::kStint, 1));
  EXPECT_EQ(outcome.jobs[0].evictions, 1);
  EXPECT_EQ(outcome.jobs[1].completion, Duration::seconds(100));
  EXPECT_EQ(outcome.jobs[0].completion, Duration::seconds(10'000 + 100 + 60));
  EXPECT_EQ(outcome.jobs[0].queue, Duration::seconds(100));
}

TEST(QueueReplay, SummaryTakesThePercentileByNearestRank) {
  std::vector<QueuedJob> jobs(200);
  for (size_t j = 0; j < jobs.size(); ++j)
    jobs[j].completion = Duration::seconds(static_cast<int64_t>(j) + 1);
  const QueueSummary s = summarise(jobs);
  EXPECT_EQ(s.completion_s_p99, 198);  // ⌈0.99 × 200⌉
  EXPECT_EQ(s.completion_s_mean, 100.5);
}

}  // namespace
}  // namespace stint::sim
