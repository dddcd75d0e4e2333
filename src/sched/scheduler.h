// The scheduler: events in, decisions out. The same machine runs live, drives Slurm and Kubernetes, and replays history.
//
// It knows no clock and does no IO: time comes with the events, decisions are carried out by whoever drives it, and their
// outcome is the next event. Same events, same decisions. State can be copied (a snapshot) and compared.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sched/cluster.h"
#include "sched/decision.h"
#include "sched/explanation.h"
#include "sched/job.h"
#include "sched/policy.h"
#include "sched/queue.h"
#include "sched/time_price.h"
#include "sched/trials.h"

namespace stint::sched {

class Scheduler {
 public:
  explicit Scheduler(const Policy& policy);
  Scheduler(const Scheduler& other);  ///< a snapshot: goes on from here independently
  Scheduler& operator=(const Scheduler& other);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Set-up; nodes and queues may also be added while running.
  NodeId add_node(const ClusterNode& node);
  QueueId add_queue(const QueueSpec& queue);
  RequestId intern(const Request& request);
  GangId intern(const Gang& gang);

  /// A search whose trials (JobSpec::study) report at rungs (EventKind::kMetric); the hopeless are stopped there.
  StudyId add_study(const TrialRules& rules);

  /// Makes a job known; it asks to run with its kSubmit event. Ids are given in order of call.
  JobId add(const JobSpec& job);

  /// Makes room for so many more jobs with so many tasks in all: saves time where their number is known.
  void reserve(size_t jobs, size_t tasks);

  /// What GPU-hours cost when and where, as far as known; replaces what was known. Deferrable jobs begin in the cheapest slot.
  /// A node is in one market at most.
  void set_prices(std::vector<MarketPrices> markets);

  /// Applies `events` in the order of decision.h and decides until nothing more can be decided.
  /// @param now  never before the last call's. @return valid until the next call.
  std::span<const Decision> step(Instant now, std::span<const Event> events);

  /// When something will have to be decided although nothing happens: a time limit, a reservation, the end of a grace
  /// period, an hour with another price. kNever = nothing.
  [[nodiscard]] Instant next_wakeup() const;
  /// GPUs asked for by jobs that room is all they wait for, in milli-GPU. O(shapes).
  [[nodiscard]] int64_t waiting_gpu_milli() const;

  /// Why the job is where it is, what would start it and when, as data. O(cluster): not for every job in every step.
  [[nodiscard]] Explanation explain(JobId job) const;

  /// What a queue has spent of its own budget, as of the last step(); none = it has none.
  [[nodiscard]] std::optional<BudgetStanding> budget_of(QueueId queue) const;

  /// Hash over everything that can influence a later decision.
  [[nodiscard]] uint64_t fingerprint() const;

  [[nodiscard]] const Cluster& cluster() const;
  [[nodiscard]] std::span<const Task> tasks_of(JobId job) const;

  struct Impl;  ///< of the scheduler's own parts

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint::sched
