#include "sim/queue_replay.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "sched/scheduler.h"

namespace stint::sim {
namespace {

using sched::Decision;
using sched::DecisionKind;
using sched::Event;
using sched::EventKind;
using sched::JobId;
using sched::kNever;
using sched::Order;

struct End {
  Instant at;
  uint32_t job = 0;
  uint32_t start = 0;  // which of the job's starts this belongs to: an eviction makes it void
  bool operator<(const End& o) const { return at != o.at ? at > o.at : job > o.job; }
};

/// All that a start or an end touches of a job, in one place: jobs are met in no order of memory.
struct QueueProgress {
  Duration left;  // useful work still to do
  Instant since;  // waiting: when that began; running: when its restart is over; then: when it ended
  Duration queue;
  uint32_t starts = 0;
  bool runs = false;
};

class Replay {
 public:
  Replay(std::span<const TraceJob> jobs, size_t users, const QueueReplayOptions& options)
      : trace_(jobs), options_(options), scheduler_(policy_of(options)), order_(jobs.size()), progress_(jobs.size()) {
    outcome_.jobs.resize(jobs.size());
    const auto nodes_of = [&](const TraceJob& job) { return (job.gpus + options.gpus_per_node - 1) / options.gpus_per_node; };
    scheduler_.reserve(jobs.size(),
                       std::transform_reduce(jobs.begin(), jobs.end(), size_t{0}, std::plus<>(),
                                             [&](const TraceJob& job) { return static_cast<size_t>(nodes_of(job)); }));
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return jobs[a].submitted < jobs[b].submitted; });
    add_nodes();
    add_queues(users);
  }

  /// A trace has neither priorities nor guarantees: only preemptive orders stop anybody.
  static sched::Policy policy_of(const QueueReplayOptions& options) {
    sched::Policy policy = options.policy;
    policy.preempt = policy.preempt && (policy.order == Order::kSrtf || policy.order == Order::kStint);
    policy.reclaim = false;
    policy.consolidate = false;  // the protocol has no moving of jobs that could stay
    return policy;
  }

  PoolOutcome run() {
    while (next_ < order_.size() || !ends_.empty()) {
      const Instant now = next_instant();
      events_.clear();
      collect_ends(now);
      collect_arrivals(now);
      do
        carry_out(now, scheduler_.step(now, events_));
      while (!events_.empty());
    }
    for (size_t j = 0; j < order_.size(); ++j) {
      const QueueProgress& p = progress_[j];
      outcome_.jobs[order_[j]] = {.gpus = trace_[order_[j]].gpus,
                                  .completion = p.since - trace_[order_[j]].submitted,
                                  .queue = p.queue,
                                  .evictions = static_cast<int32_t>(p.starts) - 1};
    }
    return std::move(outcome_);
  }

 private:
  void add_nodes() {
    NodeSpec node;
    node.gpus = options_.gpus_per_node;
    for (int64_t n = 0; n < options_.nodes; ++n)
      scheduler_.add_node(node);
  }

  void add_queues(size_t users) {
    const bool by_user =
        options_.users_share && (options_.policy.order == Order::kFair || options_.policy.order == Order::kStint);
    const size_t count = by_user ? std::max<size_t>(users, 1) : 1;
    for (size_t q = 0; q < count; ++q)
      scheduler_.add_queue({});
    queues_ = static_cast<uint32_t>(count);
  }

  Instant next_instant() {
    while (!ends_.empty() && is_void(ends_.front()))
      pop_end();
    Instant next = kNever;
    if (!ends_.empty()) next = ends_.front().at;
    if (next_ < order_.size()) next = std::min(next, trace_[order_[next_]].submitted);
    CHECK(next != kNever, "jobs wait, but nothing will ever happen");
    return std::max(now_, std::min(next, scheduler_.next_wakeup()));
  }

  [[nodiscard]] bool is_void(const End& e) const { return !progress_[e.job].runs || progress_[e.job].starts != e.start; }

  void pop_end() {
    std::pop_heap(ends_.begin(), ends_.end());
    ends_.pop_back();
  }

  void collect_ends(Instant now) {
    for (; !ends_.empty() && ends_.front().at <= now; pop_end()) {
      const End& e = ends_.front();
      if (is_void(e)) continue;
      progress_[e.job].runs = false;
      progress_[e.job].since = now;
      tell(EventKind::kFinished, JobId(e.job));
    }
  }

  void collect_arrivals(Instant now) {
    now_ = now;
    for (; next_ < order_.size() && trace_[order_[next_]].submitted == now; ++next_) {
      const TraceJob& job = trace_[order_[next_]];
      const JobId id = scheduler_.add(spec_of(job));
      progress_[id.index()].left = job.duration;
      progress_[id.index()].since = now;
      tell(EventKind::kSubmit, id);
    }
  }

  Event& tell(EventKind kind, JobId job) {
    Event& e = events_.emplace_back();
    e.kind = kind;
    e.job = job;
    return e;
  }

  sched::JobSpec spec_of(const TraceJob& job) {
    sched::JobSpec spec;
    const Ask& ask = ask_for(job.gpus);
    spec.queue = sched::QueueId(queues_ == 1 ? 0 : job.user);
    spec.request = ask.request;
    spec.gang = ask.gang;
    spec.tasks = spec.min_tasks = ask.tasks;
    spec.submitted = job.submitted;
    // The protocol's jobs go on where they were stopped.
    spec.checkpoint = {.interval = Duration(), .save = Duration(), .restart = options_.restart};
    if (options_.limit_factor > 0)
      spec.time_limit = Duration::from_seconds(job.duration.to_seconds() * options_.limit_factor + 600);
    if (options_.policy.durations == sched::Durations::kLearnt)
      spec.kin = {.user = job.user + uint64_t{1}, .name = job.name + uint64_t{1}};
    // Only the oracles are told.
    if (options_.policy.order == Order::kSjfOracle || options_.policy.order == Order::kSrtf) spec.expected = job.duration;
    return spec;
  }

  struct Ask {
    sched::RequestId request;
    sched::GangId gang;
    int32_t tasks = 0;  // 0 = not made yet
  };

  const Ask& ask_for(int32_t gpus) {
    if (static_cast<size_t>(gpus) >= asks_.size()) asks_.resize(static_cast<size_t>(gpus) + 1);
    Ask& ask = asks_[static_cast<size_t>(gpus)];
    if (ask.tasks > 0) return ask;
    const int32_t whole = gpus / options_.gpus_per_node;
    const int32_t rest = gpus % options_.gpus_per_node;
    ask.tasks = whole + (rest > 0 ? 1 : 0);
    ask.request = request_for(whole > 0 ? options_.gpus_per_node : rest);
    if (whole > 0 && rest > 0) {
      sched::Gang gang;
      gang.tasks.assign(static_cast<size_t>(whole), {.request = ask.request});
      gang.tasks.push_back({.request = request_for(rest)});
      ask.gang = scheduler_.intern(gang);
    }
    return ask;
  }

  sched::RequestId request_for(int32_t gpus) {
    sched::Request request;
    request.gpus = gpus;
    return scheduler_.intern(request);
  }

  /// Starts and evictions take no time; that a task has left is told in the next step of the same instant.
  void carry_out(Instant now, std::span<const Decision> decisions) {
    ++outcome_.steps;
    events_.clear();
    for (const Decision& d : decisions) {
      const uint32_t j = d.job.index();
      note(static_cast<uint64_t>(d.kind) ^ (uint64_t{j} << 8) ^ (static_cast<uint64_t>(now.ns()) << 20));
      if (d.kind == DecisionKind::kStart) start(j, now);
      if (d.kind == DecisionKind::kEvict) evict(j, now, d.places);
      CHECK(d.kind != DecisionKind::kReject, "job {} does not fit into the pool", j);
    }
  }

  void start(uint32_t j, Instant now) {
    QueueProgress& p = progress_[j];
    const bool again = p.starts++ > 0;
    const Duration restart = again && options_.policy.order != Order::kSrtf ? options_.restart : Duration();
    p.runs = true;
    p.queue += now - p.since;
    p.since = now + restart;
    ends_.push_back({.at = p.since + p.left, .job = j, .start = p.starts});
    std::push_heap(ends_.begin(), ends_.end());
  }

  void evict(uint32_t j, Instant now, std::span<const sched::Place> places) {
    QueueProgress& p = progress_[j];
    p.runs = false;
    p.left = p.left - std::max(now - p.since, Duration());
    p.since = now;
    for (const sched::Place& place : places) {
      Event& left = tell(EventKind::kEvicted, JobId(j));
      left.task = place.task;
      left.node = place.node;
    }
  }

  void note(uint64_t what) { outcome_.fingerprint = (outcome_.fingerprint ^ what) * 0x100000001b3ULL; }

  std::span<const TraceJob> trace_;
  const QueueReplayOptions& options_;
  sched::Scheduler scheduler_;
  std::vector<uint32_t> order_;  // by scheduler's JobId: index into trace_
  std::vector<QueueProgress> progress_;
  std::vector<Ask> asks_;  // by GPUs
  std::vector<End> ends_;  // heap
  std::vector<Event> events_;
  PoolOutcome outcome_;
  Instant now_;
  size_t next_ = 0;
  uint32_t queues_ = 1;
};

double mean_seconds(std::span<const QueuedJob> jobs, Duration QueuedJob::* field) {
  double sum = 0;
  for (const QueuedJob& job : jobs)
    sum += (job.*field).to_seconds();
  return jobs.empty() ? 0 : sum / static_cast<double>(jobs.size());
}

}  // namespace

PoolOutcome replay_queue(std::span<const TraceJob> jobs, size_t users, const QueueReplayOptions& options) {
  return Replay(jobs, users, options).run();
}

int64_t nodes_of_largest(std::span<const TraceJob> jobs, int32_t gpus_per_node) {
  int32_t largest = 1;
  for (const TraceJob& job : jobs)
    largest = std::max(largest, job.gpus);
  return (largest + gpus_per_node - 1) / gpus_per_node;
}

int64_t nodes_for(std::span<const TraceJob> jobs, int32_t gpus_per_node, double factor) {
  if (jobs.empty()) return 1;
  double gpu_seconds = 0;
  Instant first = jobs.front().submitted;
  Instant last = first;
  Duration longest;
  for (const TraceJob& job : jobs) {
    gpu_seconds += job.duration.to_seconds() * job.gpus;
    first = std::min(first, job.submitted);
    last = std::max(last, job.submitted);
    longest = std::max(longest, job.duration);
  }
  const double span = std::max(last - first, longest).to_seconds();
  const double demand = span > 0 ? gpu_seconds / span : 0;
  return std::max(nodes_of_largest(jobs, gpus_per_node), static_cast<int64_t>(std::ceil(factor * demand / gpus_per_node)));
}

QueueSummary summarise(std::span<const QueuedJob> jobs) {
  QueueSummary s;
  s.jobs = static_cast<int64_t>(jobs.size());
  if (jobs.empty()) return s;
  s.completion_s_mean = mean_seconds(jobs, &QueuedJob::completion);
  s.queue_s_mean = mean_seconds(jobs, &QueuedJob::queue);
  std::vector<Duration> sorted;
  sorted.reserve(jobs.size());
  int64_t large = 0;
  for (const QueuedJob& job : jobs) {
    sorted.push_back(job.completion);
    s.evictions += job.evictions;
    if (job.gpus < kLargeGpus) continue;
    s.large_completion_s_mean += job.completion.to_seconds();
    ++large;
  }
  if (large > 0) s.large_completion_s_mean /= static_cast<double>(large);
  const size_t rank = (sorted.size() * 99 + 99) / 100 - 1;  // ⌈0.99 n⌉, counted from 1
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(rank), sorted.end());
  s.completion_s_p99 = sorted[rank].to_seconds();
  return s;
}

}  // namespace stint::sim
