#include "cycles/action_reclaim.h"

#include "sched/search/job_order.h"

namespace stint::sched {

std::optional<RoomPlan> reclaim_for(State& state, JobId job, std::span<const JobId> ahead) {
  const JobSpec spec = state.job(job).spec;
  const QueueTree& queues = state.queues();
  const Amounts need = state.amounts(state.next_tasks(job));
  if (!may_claim(queues, spec.queue, need, spec.preemptible)) return std::nullopt;
  std::vector<QueueId> others;
  for (uint32_t q = 0; q < queues.size(); ++q)
    if (QueueId(q) != spec.queue) others.push_back(QueueId(q));
  VictimLine line(state, others, [&](JobId other) { return state.may_stop(other); });
  RoomRules rules;
  rules.allowed = may_take;
  rules.in_turn = true;
  rules.ahead = ahead;
  return make_room(state, job, line, rules);
}

std::vector<RoomPlan> reclaim_all(State& state) {
  std::vector<RoomPlan> plans;
  std::vector<std::vector<JobId>> in_vain(state.queues().size());  // per queue: those who got nothing
  WaitingJobs waiting(state, [](JobId) { return true; });
  while (const std::optional<JobId> job = waiting.take()) {
    std::vector<JobId>& ahead = in_vain[state.job(*job).spec.queue.index()];
    if (auto plan = reclaim_for(state, *job, ahead))
      plans.push_back(std::move(*plan));
    else
      ahead.push_back(*job);
  }
  return plans;
}

}  // namespace stint::sched
