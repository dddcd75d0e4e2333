#include "sched/action_reclaim.h"

#include <algorithm>

#include "sched/job_order.h"

namespace stint::sched {
namespace {

__extension__ using Wide = __int128;  // products of two amounts

bool may_claim(const QueueTree& queues, QueueId q, const Amounts& need, bool preemptible) {
  return std::all_of(kResources.begin(), kResources.end(), [&](auto r) {
    if (need.*r == 0) return true;
    if (!preemptible && queues.held_firm(q).*r + need.*r > queues.deserved(q).*r) return false;
    return queues.held(q).*r + need.*r <= queues.fair_share(q).*r;
  });
}

/// Some resource the claimant needs of which the queue holds more than `bound`.
bool above(const QueueTree& queues, QueueId q, const Amounts& bound, const Amounts& need) {
  return std::any_of(kResources.begin(), kResources.end(), [&](auto r) { return need.*r > 0 && queues.held(q).*r > bound.*r; });
}

bool stays_within(const QueueTree& queues, QueueId q, const Amounts& need, const Amounts& bound) {
  return std::all_of(kResources.begin(), kResources.end(),
                     [&](auto r) { return need.*r == 0 || queues.held(q).*r + need.*r <= bound.*r; });
}

/// held ÷ share of `a` with `need` is larger than that of `b`, in a resource that `a` needs.
bool more_saturated(const QueueTree& queues, QueueId a, const Amounts& need, QueueId b) {
  return std::any_of(kResources.begin(), kResources.end(), [&](auto r) {
    if (need.*r == 0) return false;
    const Wide left = static_cast<Wide>(queues.held(a).*r + need.*r) * queues.fair_share(b).*r;
    return left > static_cast<Wide>(queues.held(b).*r) * queues.fair_share(a).*r;
  });
}

bool ends_balanced(const QueueTree& queues, QueueId claimant, const Amounts& need, const std::vector<QueueId>& taken_from) {
  for (QueueId q = claimant; q.valid(); q = queues.parent(q)) {
    if (stays_within(queues, q, need, queues.fair_share(q))) continue;
    for (const QueueId s : taken_from)
      if (queues.parent(s) == queues.parent(q) && more_saturated(queues, q, need, s)) return false;
  }
  return true;
}

bool may_take(State& state, JobId job, const Amounts& need, std::span<const VictimChunk> victims) {
  QueueTree& queues = state.queues();
  const QueueId claimant = state.job(job).spec.queue;
  const size_t mark = queues.mark();
  std::vector<QueueId> taken_from;
  bool allowed = true;
  for (const VictimChunk& victim : victims) {
    const QueueId from = state.job(victim.job).spec.queue;
    const auto [mine, theirs] = queues.branches(claimant, from);
    allowed = above(queues, theirs, queues.allocatable(theirs), need) ||
              (stays_within(queues, mine, need, queues.deserved(mine)) && above(queues, theirs, queues.deserved(theirs), need));
    if (!allowed) break;
    queues.charge(from, state.amounts(victim.tasks), true, -1);
    taken_from.push_back(theirs);
  }
  allowed = allowed && ends_balanced(queues, claimant, need, taken_from);
  queues.take_back(mark);
  return allowed;
}

}  // namespace

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
