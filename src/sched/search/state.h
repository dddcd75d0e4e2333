// State: cluster, queues and jobs together, as a search for room sees and changes them.
//
// Everything that gives a task room or takes it away goes through here, so that the queues' accounts always agree with the
// cluster. Inside a `Transaction` all of it can be taken back. The scheduler makes one for each search, over its own cluster and
// with the jobs that matter to it; the cycle scheduler of the tests keeps one with a cluster of its own.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include <span>
#include <vector>

#include "sched/job.h"
#include "sched/place/cluster.h"
#include "sched/place/place_gang.h"
#include "sched/policy.h"
#include "sched/queues/queue_tree.h"

namespace stint::sched {

/// A job as it stands.
struct JobRun {
  JobSpec spec;
  const Gang* gang = nullptr;
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
  /// Places all of a job's `tasks` or none, as place_gang does. Empty = place_gang by `pick`.
  std::function<bool(JobId, std::span<const TaskId>, Room)> place;
  /// Who gives way: first the queue that goes last, in it the order of victims. false: that order over all queues.
  bool queues_first = true;
};

class State {
 public:
  /// With a cluster of its own.
  explicit State(StateRules rules) : rules_(std::move(rules)), own_(std::make_unique<Cluster>()), cluster_(*own_) {}
  /// Over a cluster that is there. It outlives the state.
  State(StateRules rules, Cluster& cluster) : rules_(std::move(rules)), cluster_(cluster) {}

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
  /// The job is there already, with its tasks in the cluster, and matters.
  void know(JobId j, const JobRun& run);
  /// Divides the queues' fair shares from what all jobs hold and wait for. O(jobs).
  void divide_shares();

  // Reading.
  [[nodiscard]] size_t job_count() const { return jobs_.size(); }
  [[nodiscard]] bool knows(JobId j) const { return jobs_.contains(j); }
  [[nodiscard]] const JobRun& job(JobId j) const { return jobs_.at(j); }
  JobRun& job(JobId j) { return jobs_.at(j); }
  [[nodiscard]] const Gang* gang(JobId j) const { return job(j).gang; }
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
  /// Work lost of each GPU's time if these running tasks of one job stopped now, in nanoseconds: since its last checkpoint, and
  /// to come back. Tasks that only have a promise lose nothing.
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
  std::unique_ptr<Cluster> own_;
  Cluster& cluster_;
  QueueTree queues_;
  std::map<JobId, JobRun> jobs_;
  std::deque<Gang> gangs_;                       // references stay
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
