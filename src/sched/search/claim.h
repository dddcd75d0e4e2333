// What a queue may take back.
//
// Who may claim: a queue that stays within its fair share with what it claims, at every level; firm jobs within what it
// deserves. What may be taken, compared between the two siblings through which the queues part: before each taking the
// victim's side holds more than it may hold without owing (QueueTree::allocatable), or more than it deserves while the
// claimant's side stays within what it deserves. And a claimant that would end above its fair share may not end more
// saturated (held ÷ share) than a sibling it took from: otherwise the two would take from each other in turn.
#pragma once

#include <span>

#include "sched/search/victims.h"

namespace stint::sched {

/// Does the queue stay within its fair share with what is needed (a firm job: within what it deserves)?
bool may_claim(const QueueTree& queues, QueueId q, const Amounts& need, bool preemptible);
/// May all of these be taken from, one after the other?
bool may_take(State& state, JobId job, const Amounts& need, std::span<const VictimChunk> victims);

}  // namespace stint::sched
