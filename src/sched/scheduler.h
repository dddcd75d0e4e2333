// The scheduler: events in, decisions out. The same machine runs live, drives Slurm and Kubernetes, and replays history.
//
// It knows no clock and does no IO: time comes with the events, decisions are carried out by whoever drives it, and their
// outcome is the next event. Same events, same decisions. State can be copied (a snapshot) and compared.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/decision.h"
#include "sched/explanation.h"
#include "sched/job.h"
#include "sched/place/cluster.h"
#include "sched/policy.h"
#include "sched/queues/queue.h"
#include "sched/time_price.h"
#include "sched/trials.h"

namespace stint::sched {

/// A task that is found on a node, see Scheduler::adopt.
struct FoundTask {
  TaskId task;
  NodeId node;
  uint64_t gpus = 0;     ///< the GPUs of the node, as in Place; 0 = any that are free, or none
  bool leaving = false;  ///< it was told to leave, and still holds its room
};

class Scheduler {
 public:
  explicit Scheduler(const Policy& policy);
  Scheduler(const Scheduler& other);  ///< a snapshot: goes on from here independently
  Scheduler& operator=(const Scheduler& other);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Set-up; nodes and queues may also be added while running.
  /// Its id is that of a node that is gone (EventKind::kNodeGone), where there is one, else the next.
  NodeId add_node(const NodeSpec& node);
  QueueId add_queue(const QueueSpec& queue);
  /// Other limits, guarantees, weight, priority or hours of a queue that is there; its parent, age and budget stay. What runs goes on,
  /// also beyond a lower limit; the next step() decides by the new terms.
  void change_queue(QueueId queue, const QueueSpec& spec);
  RequestId intern(const Request& request);
  GangId intern(const Gang& gang);

  /// A search whose trials (JobSpec::study) report at rungs (EventKind::kMetric); the hopeless are stopped there.
  StudyId add_study(const TrialRules& rules);

  /// Makes a job known; it asks to run with its kSubmit event. Ids are given in order of call.
  JobId add(const JobSpec& job);

  /// Makes room for so many more jobs with so many tasks in all: saves time where their number is known.
  void reserve(size_t jobs, size_t tasks);

  /// Machines may come that are not known yet: a job that is larger than all that are known waits for one, where it would be rejected.
  void expect_machines();

  /// What is known of how long jobs run, by those that have ended here and what learn() was given.
  [[nodiscard]] const DurationBook& durations() const;
  /// Takes in what others know, of a History say. Jobs that wait keep their rank until they wait again.
  void learn(const DurationBook& known);

  /// What GPU-hours cost when and where, as far as known; replaces what was known. Deferrable jobs begin in the cheapest slot.
  /// A node is in one market at most.
  void set_prices(std::vector<MarketPrices> markets);

  /// Applies `events` in the order of decision.h and decides until nothing more can be decided.
  /// @param now  never before the last call's. @return valid until the next call.
  std::span<const Decision> step(Instant now, std::span<const Event> events);

  /// For a world that goes on by itself, as a Slurm does: applies what happened without deciding anything on it. What this
  /// stops (the rest of a gang that lost a task, say) is not reported: that world has its own ways.
  void observe(Instant now, std::span<const Event> events);
  /// `job`, which does not run, is found running since the last step's or observation's instant: task i on `nodes[i]`. It takes
  /// room that was promised to others. @return false: there is no room for it; it is then where it was, or waits again.
  bool adopt(JobId job, std::span<const NodeId> nodes);
  /// The same of some of its tasks only: the others wait. Of an elastic job, or of a gang that is broken.
  bool adopt(JobId job, std::span<const FoundTask> found);

  /// When something will have to be decided although nothing happens: a time limit, a reservation, the end of a grace
  /// period, an hour with another price. kNever = nothing.
  [[nodiscard]] Instant next_wakeup() const;
  /// GPUs asked for by jobs that room is all they wait for, in milli-GPU. O(shapes).
  [[nodiscard]] int64_t waiting_gpu_milli() const;

  /// Why the job is where it is, what would start it and when, as data. O(cluster): not for every job in every step.
  [[nodiscard]] Explanation explain(JobId job) const;

  /// Jobs that wait for room, the first to go first, were there room for all of them: each counts as holding what it asks for
  /// before the next is chosen. Those whose queue has spent its budget are not in it. Limits and hours are not looked at.
  [[nodiscard]] std::vector<JobId> waiting_line() const;

  /// What a queue has spent of its own budget, as of the last step(); none = it has none.
  [[nodiscard]] std::optional<BudgetStanding> budget_of(QueueId queue) const;
  /// The same as of a later instant, should nothing happen before.
  [[nodiscard]] std::optional<BudgetStanding> budget_of(QueueId queue, Instant at) const;

  /// Hash over everything that can influence a later decision.
  [[nodiscard]] uint64_t fingerprint() const;

  [[nodiscard]] const Cluster& cluster() const;
  [[nodiscard]] std::span<const Task> tasks_of(JobId job) const;

  /// All of it as bytes, for a program whose scheduler has the same parts. Between two steps.
  [[nodiscard]] std::string save() const;
  /// @param policy  of the one that was saved. none: these bytes are no scheduler of this program.
  static std::optional<Scheduler> load(const Policy& policy, std::string_view saved);

  /// Has it ended for good, so that nothing here needs it any more? Trials of a search are needed by those that follow.
  [[nodiscard]] bool may_forget(JobId job) const;
  /// Jobs leave memory; those that stay get ids anew, from 0 on, in the order they had. So do their tasks and arrays.
  /// @param gone  by job; only those that may_forget(). @return how many arrays are left.
  uint32_t forget(const std::vector<bool>& gone);

  struct Impl;  ///< of the scheduler's own parts

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint::sched
