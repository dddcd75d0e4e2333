// State: cluster, queues and jobs together, as the deep decisions (the action_*.h files) see and change them.
//
// Everything that gives a task room or takes it away goes through here, so that the queues' accounts always agree with the
// cluster. Inside a `Transaction` all of it can be taken back.
#pragma once

#include <span>
#include <vector>

#include "sched/cluster.h"
#include "sched/job.h"
#include "sched/place_gang.h"
#include "sched/policy.h"
#include "sched/queue_tree.h"

namespace stint::sched {

/// A job as it stands.
struct JobRun {
  JobSpec spec;
  TaskId first;     ///< spec.tasks contiguous tasks
  Instant started;  ///< of its present run; before any start, meaningless
  Instant saved;    ///< last checkpoint of the present run; before `started` = none
  /// Since when fewer than its minimum run; kNever = its gang is whole, or nothing of it runs.
  Instant broken_since = kNever;
};

struct StateRules {
  VictimOrder victims = VictimOrder::kLeastLostWork;
  Duration stale_gang_grace;
  PickPlace pick;  ///< chooses the node for each task
};

class State {
 public:
  explicit State(StateRules rules) : rules_(std::move(rules)) {}

  // Set-up.
  Cluster& cluster() { return cluster_; }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  QueueTree& queues() { return queues_; }
  [[nodiscard]] const QueueTree& queues() const { return queues_; }
  [[nodiscard]] const StateRules& rules() const { return rules_; }
  void set_now(Instant now) { now_ = now; }
  [[nodiscard]] Instant now() const { return now_; }
  GangId add_gang(const Gang& gang);
  /// Adds the job and its tasks, all pending. Ids are given in order of call: a smaller id is an older job.
  JobId add_job(const JobSpec& spec);
  /// Divides the queues' fair shares from what all jobs hold and wait for. O(jobs).
  void divide_shares();

  // Reading.
  [[nodiscard]] size_t job_count() const { return jobs_.size(); }
  [[nodiscard]] const JobRun& job(JobId j) const { return jobs_[j.index()]; }
  JobRun& job(JobId j) { return jobs_[j.index()]; }
  [[nodiscard]] const Gang* gang(JobId j) const;
  [[nodiscard]] std::span<const Task> tasks(JobId j) const;
  [[nodiscard]] Amounts amounts(std::span<const TaskId> tasks) const;
  [[nodiscard]] int32_t active(JobId j) const;   ///< tasks that run or are nominated
  [[nodiscard]] int32_t running(JobId j) const;  ///< tasks that run
  [[nodiscard]] bool whole(JobId j) const;       ///< every leaf, or the job, has its minimum active
  /// What would be placed next: the gang, or one more task of an elastic job. Empty = nothing.
  [[nodiscard]] std::vector<TaskId> next_tasks(JobId j) const;
  /// Preemptible jobs of leaf `q` that may hold something, ascending. Some may have ended.
  [[nodiscard]] std::span<const JobId> preemptible_in(QueueId q) const;
  /// It has run for as long as it may before it can be evicted.
  [[nodiscard]] bool may_stop(JobId j) const { return now_ - job(j).started >= job(j).spec.min_runtime; }
  /// Work lost if these running tasks of one job stopped now, in milli-GPU × seconds: since its last checkpoint, and to
  /// come back. Tasks that only have a promise lose nothing.
  [[nodiscard]] int64_t lost_work(std::span<const TaskId> tasks) const;

  // Changes.
  /// All `tasks` (pending, of one job), or none: within the queue's limits, running or nominated.
  bool place(std::span<const TaskId> tasks, Room room);
  void leave(TaskId t);  ///< running → releasing
  void stop(TaskId t);   ///< running → releasing, nominated → pending
  void gone(TaskId t, TaskState then);
  void run_at(TaskId t, const Place& place);  ///< pending → running, on free room; limits are not asked
  void nominate_at(TaskId t, const Place& place);

 private:
  friend class Transaction;
  void charge(TaskId t, int64_t times);

  StateRules rules_;
  Cluster cluster_;
  QueueTree queues_;
  std::vector<JobRun> jobs_;
  std::vector<Gang> gangs_;
  std::vector<std::vector<JobId>> preemptible_;  // per queue; ascending
  Instant now_;
  int open_ = 0;  // transactions
};

/// What is done to the State in its scope is taken back at the end, unless kept.
class Transaction {
 public:
  explicit Transaction(State& state) : state_(state), trial_(state.cluster_.open_trial()), mark_(state.queues_.mark()) {
    ++state_.open_;
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (!kept_) {
      state_.cluster_.undo(trial_);
      state_.queues_.take_back(mark_);
    }
    if (--state_.open_ == 0) state_.queues_.settle();
  }
  void keep() {
    state_.cluster_.keep(trial_);
    kept_ = true;
  }

 private:
  State& state_;
  Cluster::Trial trial_;
  size_t mark_;
  bool kept_ = false;
};

}  // namespace stint::sched
