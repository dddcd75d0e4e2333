#include "sched/search/claim.h"

#include <algorithm>
#include <vector>

namespace stint::sched {
namespace {

__extension__ using Wide = __int128;  // products of two amounts

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

}  // namespace

bool may_claim(const QueueTree& queues, QueueId q, const Amounts& need, bool preemptible) {
  return std::all_of(kResources.begin(), kResources.end(), [&](auto r) {
    if (need.*r == 0) return true;
    if (!preemptible && queues.held_firm(q).*r + need.*r > queues.deserved(q).*r) return false;
    return queues.held(q).*r + need.*r <= queues.fair_share(q).*r;
  });
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

}  // namespace stint::sched
