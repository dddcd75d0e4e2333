#include "cycles/action_preempt.h"

#include "sched/search/job_order.h"

namespace stint::sched {

std::optional<RoomPlan> preempt_for(State& state, JobId job) {
  const JobSpec spec = state.job(job).spec;
  VictimLine line(state, {&spec.queue, 1},
                  [&](JobId other) { return state.job(other).spec.priority < spec.priority && state.may_stop(other); });
  return make_room(state, job, line, {});
}

std::vector<RoomPlan> preempt_all(State& state) {
  std::vector<RoomPlan> plans;
  WaitingJobs waiting(state, [](JobId) { return true; });
  while (const std::optional<JobId> job = waiting.take())
    if (auto plan = preempt_for(state, *job)) plans.push_back(std::move(*plan));
  return plans;
}

}  // namespace stint::sched
