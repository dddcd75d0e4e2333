// A cluster that has a queue of its own, mirrored into the scheduler; its decisions, as orders. Pure, and the same for every such cluster:
// an adapter says what stands in its queue and turns orders into what the cluster understands (backends/slurm/slurm_mirror.h).
//
// The cluster is the truth. Each pass compares what it says with what the books say, brings the books in line (a job that ended, came
// back, runs elsewhere, was taken back, that somebody else started) by Scheduler::observe and Scheduler::adopt, and lets `step` decide.
// Nothing is kept that the cluster does not keep: begin() makes the books anew at any time.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "model/workload.h"
#include "sched/scheduler.h"

namespace stint {

/// Where a job stands, as its cluster says.
enum class ClusterStanding : uint8_t {
  kNotOurs,  ///< it waits for somebody else
  kWaits,    ///< for us to place it
  kOnHold,   ///< likewise, but not now
  kStarts,   ///< was told to start on `machines`, and has not begun
  kRuns,     ///< on `machines`, whoever started it
  kEnded,
};

struct ClusterJob {
  std::string key;  ///< what its cluster calls it
  ClusterStanding standing = ClusterStanding::kNotOurs;
  bool succeeded = false;  ///< kEnded
  bool leaves = false;     ///< kRuns: it was told to leave before begin(); it comes back as new
  std::string queue;       ///< one that is not configured is made
  sched::Request request;  ///< of each of `tasks`: what it asks for, or holds
  int32_t tasks = 1;
  std::vector<std::string> machines;  ///< kStarts, kRuns: a task on each; empty = not known here
  int32_t priority = 0;
  bool preemptible = false;
  int restarts = 0;
  std::optional<Instant> submitted, started, deadline;
  std::optional<Duration> time_limit;
  sched::CheckpointBehaviour checkpoint;
};

struct ClusterMachine {
  NodeSpec node;  ///< with its price
  bool takes_work = true;
};

struct ClusterView {
  std::vector<ClusterMachine> machines;
  std::vector<ClusterJob> jobs;  ///< the oldest first
};

enum class ClusterOrderKind : uint8_t {
  kPlace,  ///< to start on `machines`
  kStop,   ///< to leave, and to wait again
  kNever,  ///< cannot run here
};

struct ClusterOrder {
  ClusterOrderKind kind = ClusterOrderKind::kPlace;
  size_t job = 0;                     ///< in the view
  std::vector<std::string> machines;  ///< kPlace: in the order of the view
  std::string why;                    ///< in words
};

class ClusterMirror {
 public:
  /// @param queues  others are made when a job names them.
  ClusterMirror(sched::Policy policy, std::vector<sched::QueueSpec> queues)
      : policy_(std::move(policy)), queues_(std::move(queues)) {}

  /// Begins anew: what ran before counts in fair shares and budgets, what runs is taken over.
  /// @param past  runs of this cluster; those without an end are passed over.
  void begin(Instant now, const ClusterView& view, std::span<const Run> past);
  [[nodiscard]] bool has_begun() const { return scheduler_.has_value(); }

  /// @param view  with the machines of begin(), in that order. @param now  never before the last call's.
  std::vector<ClusterOrder> pass(Instant now, const ClusterView& view);
  /// In which order these would go, as indexes, were all of them ours beside those that are. Jobs of queues that have spent their budget
  /// are not in it. @param now  of the last pass.
  [[nodiscard]] std::vector<size_t> line(Instant now, std::span<const ClusterJob> jobs) const;

  /// As of the last pass: ours that wait for room, and all that run.
  [[nodiscard]] size_t waiting() const;
  [[nodiscard]] size_t running() const;
  /// Jobs the books have had since begin(): they grow.
  [[nodiscard]] size_t jobs_kept() const { return jobs_added_; }
  /// By queue, those that have one.
  [[nodiscard]] std::map<std::string, sched::BudgetStanding> budgets() const;

 private:
  enum class Phase : uint8_t { kWaiting, kOnHold, kRunning, kLeaving, kRejected };
  struct Known {
    sched::JobId id;
    Phase phase = Phase::kWaiting;
    std::vector<NodeId> nodes;  ///< kRunning, kLeaving; ascending
    int restarts = 0;
    sched::Request request;
    int32_t tasks = 1;
    std::optional<Duration> time_limit;
    bool ends = false;  ///< kLeaving: does not wait again in the books
    bool seen = false;  ///< in this pass
  };
  /// Something that began or ended before begin().
  struct Moment {
    Instant at;
    bool begins = false;  ///< ends come first
    size_t index = 0;     ///< into the jobs of the past
    auto operator<=>(const Moment&) const = default;
  };
  struct PastJob {
    sched::JobId id;
    std::vector<NodeId> nodes;
    bool runs = false;  ///< it was taken over
  };
  using Events = std::vector<sched::Event>;

  Known& add(const ClusterJob& job);
  void add_past(const Run& run, std::vector<PastJob>& jobs, std::vector<Moment>& moments);
  /// @return whether it has to be adopted or submitted.
  bool compare(const ClusterJob& job, Events& events);
  bool compare_waiting(const ClusterJob& job, Known& known, Events& events);
  void lose(Known& known, Events& events) const;
  void cancel(std::string_view key, Events& events);
  void cancel_unseen(Events& events);
  void take_in_machines(const ClusterView& view, Events& events);
  void take_up(std::span<const ClusterJob* const> changed, Events& submits);
  std::optional<ClusterOrder> order_for(const sched::Decision& decision, const ClusterJob& job, size_t index);
  sched::QueueId queue_of(const std::string& name);
  /// Ascending. Empty when one of them is not there.
  [[nodiscard]] std::vector<NodeId> ids_of(std::span<const std::string> machines) const;

  sched::Policy policy_;
  std::vector<sched::QueueSpec> queues_;
  std::optional<sched::Scheduler> scheduler_;
  std::vector<ClusterMachine> machines_;
  std::map<std::string, NodeId, std::less<>> node_ids_;
  std::map<std::string, sched::QueueId, std::less<>> queue_ids_;
  std::map<std::string, Known, std::less<>> known_;
  size_t jobs_added_ = 0;
};

}  // namespace stint
