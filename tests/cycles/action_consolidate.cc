#include "cycles/action_consolidate.h"

#include "sched/search/job_order.h"

namespace stint::sched {

std::optional<RoomPlan> consolidate_for(State& state, JobId job) {
  const JobSpec& spec = state.job(job).spec;
  if (!spec.preemptible) return std::nullopt;
  // Moves free nothing of a quota, so the job must have its place in the limits already.
  if (!state.queues().within_limits(spec.queue, state.amounts(state.next_tasks(job)), true)) return std::nullopt;
  std::vector<QueueId> leaves;
  for (uint32_t q = 0; q < state.queues().size(); ++q)
    leaves.push_back(QueueId(q));
  VictimLine line(state, leaves, [&](JobId other) { return other != job; });
  RoomRules rules;
  rules.everybody_placed = true;
  return make_room(state, job, line, rules);
}

std::vector<RoomPlan> consolidate_all(State& state) {
  std::vector<RoomPlan> plans;
  WaitingJobs waiting(state, [&](JobId j) { return state.job(j).spec.preemptible; });
  while (const std::optional<JobId> job = waiting.take())
    if (auto plan = consolidate_for(state, *job)) plans.push_back(std::move(*plan));
  return plans;
}

}  // namespace stint::sched
