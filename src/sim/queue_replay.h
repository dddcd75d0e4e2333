// Replays a trace of jobs on a pool of equal nodes under a queue order, by driving the scheduler with a heap of ends.
//
// Rules, as in the public simulators for the Philly and Helios traces: a job of up to as many GPUs as a node has needs
// them on one node (the fullest on which they fit, ties to the smallest index); a larger one needs whole nodes and, for
// the rest, one more. Ends come before arrivals at the same instant; ties go by file order.
// Preemption is not free: a job that was stopped holds its GPUs for `restart` before it does useful work again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/job_trace.h"
#include "sched/policy.h"

namespace stint::sim {

struct QueueReplayOptions {
  sched::Policy policy{.backfill = sched::Backfill::kNone};
  int32_t gpus_per_node = 8;
  int64_t nodes = 1;
  double limit_factor = 0;                   ///< time limits given with the jobs: so many times the true duration; 0 = none
  bool users_share = true;                   ///< under fair and stint: a queue for each user; else one for all
  Duration restart = Duration::seconds(60);  ///< srtf, the oracle of theory, restarts for nothing
};

/// What became of one job.
struct QueuedJob {
  int32_t gpus = 0;
  Duration completion;  ///< end − submission
  Duration queue;       ///< all the time it waited
  int32_t evictions = 0;
};

struct PoolOutcome {
  std::vector<QueuedJob> jobs;  ///< in the order of the input
  int64_t steps = 0;            ///< of the scheduler
  uint64_t fingerprint = 0;     ///< of every start and eviction, in order
};

/// @param jobs  of one pool, in file order; each fits into the empty pool (see nodes_for). The order of submission may differ.
/// @param users  number of users; a queue is made for each under fair and stint.
PoolOutcome replay_queue(std::span<const TraceJob> jobs, size_t users, const QueueReplayOptions& options);

/// Nodes that the largest job needs.
int64_t nodes_of_largest(std::span<const TraceJob> jobs, int32_t gpus_per_node);
/// max(nodes of the largest job, ⌈factor × mean demand ÷ gpus_per_node⌉); the mean demand is all GPU-seconds over the time
/// from the first submission to the last (at least the longest job, so that a burst does not count as endless demand).
int64_t nodes_for(std::span<const TraceJob> jobs, int32_t gpus_per_node, double factor);

inline constexpr int32_t kLargeGpus = 32;

/// Means over jobs, and the 99th percentile by nearest rank.
struct QueueSummary {
  int64_t jobs = 0;
  double completion_s_mean = 0;
  double queue_s_mean = 0;
  double completion_s_p99 = 0;
  double large_completion_s_mean = 0;  ///< of jobs of kLargeGpus and more; 0 = there are none
  int64_t evictions = 0;
};
QueueSummary summarise(std::span<const QueuedJob> jobs);

}  // namespace stint::sim
