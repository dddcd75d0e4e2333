// Cluster cases by the cycle scheduler: the steps of a case are its actions.
#include <algorithm>

#include "cycles/case_engine.h"
#include "cycles/cycle.h"

namespace stint {
namespace {

using namespace sched;

Step step_of(const std::string& name) {
  if (name == "consolidation") return Step::kConsolidate;
  if (name == "reclaim") return Step::kReclaim;
  if (name == "preempt") return Step::kPreempt;
  if (name == "stale_gang") return Step::kStaleGang;
  return Step::kAllocate;
}

StateRules rules_of(const ClusterCase& c, VictimOrder victims) {
  PlaceRules place;
  if (c.spread_gpu_nodes) place.gpu_tasks = NodeOrder::kSpread;
  if (c.spread_cpu_nodes) place.cpu_tasks = NodeOrder::kSpread;
  if (c.spread_shared_gpus) place.shared_gpu = SharedGpu::kSpread;
  StateRules rules;
  rules.victims = victims;
  rules.stale_gang_grace = Duration::seconds(c.stale_grace_s);
  rules.pick = [place](const Cluster& cluster, RequestId r, Room room, const Scope& scope) {
    return pick_by_rules(cluster, r, room, scope, place);
  };
  return rules;
}

class CycleEngine : public CaseEngine {
 public:
  CycleEngine(const ClusterCase& c, const CaseSeats& seats, const CaseQueues& queues, VictimOrder victims)
      : names_(seats.names), state_(rules_of(c, victims)) {
    for (const std::string& name : c.steps)
      steps_.push_back(step_of(name));
    state_.set_now(kCaseTime);
    for (const CaseNode& n : c.nodes)
      state_.cluster().add_node(node_of(n));
    for (const QueueSpec& q : queues.specs)
      state_.queues().add(q);
    for (const CaseJob* job : names_.jobs) {
      JobSpec spec = job_of(
          c, *job, queues.ids.at(job->queue), [&](const Request& r) { return state_.cluster().intern(r); },
          [&](const Gang& gang) { return state_.add_gang(gang); });
      spec.submitted = kCaseTime - Duration::minutes(job->age_minutes);
      JobRun& run = state_.job(state_.add_job(spec));
      run.started = spec.submitted;
      if (job->stale_for_s) run.broken_since = kCaseTime - Duration::seconds(*job->stale_for_s);
    }
    seat(seats.cluster.tasks());
  }

  void round() override { run_cycle(state_, steps_); }

  void settle() override {
    for (uint32_t t = 0; t < names_.tasks.size(); ++t) {
      const Task& task = state_.cluster().task(TaskId(t));
      const bool stays = names_.jobs[task.job.index()]->deleted_when_evicted;
      if (task.state == TaskState::kNominated || (task.state == TaskState::kReleasing && !stays))
        state_.gone(TaskId(t), TaskState::kPending);
    }
  }

  std::vector<Task> tasks() const override { return {state_.cluster().tasks().begin(), state_.cluster().tasks().end()}; }
  const Cluster& cluster() const override { return state_.cluster(); }
  bool starts_in_any_step() const override { return false; }

 private:
  void seat(std::span<const Task> tasks) {
    for (uint32_t t = 0; t < tasks.size(); ++t) {
      const TaskId id(t);
      if (tasks[t].state == TaskState::kFailed) state_.gone(id, TaskState::kFailed);
      if (tasks[t].holds(Room::kFree)) state_.run_at(id, tasks[t].place);
      if (tasks[t].state == TaskState::kReleasing) state_.leave(id);
    }
    for (uint32_t t = 0; t < tasks.size(); ++t)
      if (tasks[t].state == TaskState::kNominated) state_.nominate_at(TaskId(t), tasks[t].place);
  }

  const CaseNames& names_;
  State state_;
  std::vector<Step> steps_;
};

}  // namespace

Result<std::unique_ptr<CaseEngine>> cycle_engine(const ClusterCase& c, const CaseSeats& seats, VictimOrder victims) {
  TRY_ASSIGN(const CaseQueues queues, queues_of(c));
  return std::unique_ptr<CaseEngine>(std::make_unique<CycleEngine>(c, seats, queues, victims));
}

}  // namespace stint
