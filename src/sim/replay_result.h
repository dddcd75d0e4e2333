// What came out of a replay: how long jobs waited, what the GPUs did, what it cost, and what did not end. Plain data for
// tables, JSON, pictures and advice.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "sched/decision.h"
#include "sched/ids.h"

namespace stint::sim {

/// Size classes by the GPUs of all tasks of a job together.
enum class SizeClass : uint8_t { kNoGpu, kUpTo1, k2To4, k5To8, k9To32, kOver32 };
inline constexpr size_t kSizeClasses = 6;
std::string_view name_of(SizeClass c);  // "no GPU", "up to 1", "2-4", "5-8", "9-32", "over 32"
SizeClass size_class_of(int64_t gpu_milli);

/// Of durations, in seconds. Percentiles by nearest rank. All 0 with count 0.
struct Spread {
  int64_t count = 0;
  double mean_s = 0;
  double p50_s = 0;
  double p95_s = 0;
  double p99_s = 0;
  double max_s = 0;
};
/// Sorts `durations`.
Spread spread_of(std::vector<Duration>& durations);

/// How a job stands at the end of the replay.
enum class JobEnding : uint8_t {
  kSucceeded,
  kFailed,            ///< by itself, retries used up
  kTimeLimit,         ///< stopped by its time limit
  kStopped,           ///< a hopeless trial, stopped
  kMadeAlready,       ///< skipped: another job had made what it makes
  kCancelled,         ///< taken back by its owner
  kNeverFits,         ///< rejected: can never run here
  kDependencyFailed,  ///< rejected: what it waits for did not succeed
  kWaiting,           ///< still waiting
  kRunning,           ///< still running
  kNotSubmitted,      ///< its time had not come
};
inline constexpr size_t kJobEndings = 11;
std::string_view name_of(JobEnding e);  // "succeeded", "failed", "time-limit", "stopped", "cancelled", "never-fits", …

struct JobOutcome {
  JobEnding ending = JobEnding::kNotSubmitted;
  Instant first_start;  ///< valid when starts > 0
  Instant ended;        ///< valid when it is not waiting, running or not submitted
  int32_t starts = 0;
  int32_t evictions = 0;      ///< by decision of the scheduler
  int32_t lost_tasks = 0;     ///< with their nodes
  double gpu_hours = 0;       ///< held
  double gpu_hours_lost = 0;  ///< of useful work that had to be, or would have to be, done again
  Money cost;                 ///< its share of the nodes it held
};

/// GPU-hours by what they were. held = useful + lost + overhead.
struct GpuHours {
  double available = 0;  ///< on nodes that were up
  double held = 0;
  double useful = 0;    ///< work that counted
  double lost = 0;      ///< work done again, or thrown away with the job
  double overhead = 0;  ///< restarting, saving, leaving, waiting for the rest of the gang
};

struct ReplayMoney {
  Money total;  ///< paid for the nodes; = jobs + idle, exactly
  Money jobs;
  Money idle;
};

/// State at `at` and from there on until the next point.
struct TimelinePoint {
  Instant at;
  int64_t gpu_milli_available = 0;
  int64_t gpu_milli_held = 0;
  int64_t waiting = 0;
  int64_t running = 0;
  Money cost;  ///< so far
};

/// A task on a node, for a Gantt picture.
struct Occupancy {
  sched::JobId job;
  NodeId node;
  uint64_t gpus = 0;
  int32_t milli = 0;  ///< 0 = whole GPUs
  Interval when;
};

struct ReplayResult {
  Interval period;    ///< from the first submission to the end of the replay
  Spread waiting;     ///< from submission (or not_before, if later) to the first start; of jobs that started
  Spread completion;  ///< from submission to the end; of jobs that succeeded
  std::array<Spread, kSizeClasses> waiting_by_size;
  std::array<Spread, kSizeClasses> completion_by_size;
  Duration makespan;  ///< first submission to last end
  GpuHours gpu_hours;
  double allocation_pct = 0;     ///< held of available GPU-hours
  double utilization_pct = 0;    ///< useful of available
  double fragmentation_pct = 0;  ///< mean share of free GPU that the waiting jobs' kinds of request could not use
  int64_t starts = 0;
  int64_t evictions = 0;                         ///< of jobs, not tasks
  int64_t nodes_started = 0, nodes_stopped = 0;  ///< of pools, by demand
  int64_t node_losses = 0;
  int64_t deadlines = 0;  ///< jobs with one that is over
  int64_t deadlines_missed = 0;
  ReplayMoney money;
  std::vector<Money> paid_at_marks;  ///< until each of ReplayOptions::marks that came before the end
  std::array<int64_t, kJobEndings> endings{};
  std::vector<JobOutcome> jobs;         ///< by job
  std::vector<TimelinePoint> timeline;  ///< ascending, at most ReplayOptions::timeline_points
  std::vector<Occupancy> occupancy;     ///< by begin; at most ReplayOptions::occupancies, the first ones
  int64_t occupancies_left_out = 0;
  int64_t steps = 0;
  int64_t events = 0;
  int64_t decisions = 0;
  uint64_t fingerprint = 0;  ///< of all decisions in order, their times, and the outcome
};

}  // namespace stint::sim
