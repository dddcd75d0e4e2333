// Reclaim: a queue that holds less than its share takes back room from queues that hold more than theirs.
//
// Who may claim: a queue that stays within its fair share with what it claims, at every level; firm jobs within what it
// deserves. What may be taken, compared between the two siblings through which the queues part: before each taking the
// victim's side holds more than it may hold without owing (QueueTree::allocatable), or more than it deserves while the
// claimant's side stays within what it deserves. And a claimant that would end above its fair share may not end more
// saturated (held ÷ share) than a sibling it took from: otherwise the two would take from each other in turn. For the same
// reason no victim may get the room back before the claimant when it is given out in turn.
#pragma once

#include <optional>
#include <span>

#include "sched/victims.h"

namespace stint::sched {

/// @param ahead  the waiting jobs of its queue whose turn comes before.
std::optional<RoomPlan> reclaim_for(State& state, JobId job, std::span<const JobId> ahead = {});

/// One attempt for each waiting job, in order.
std::vector<RoomPlan> reclaim_all(State& state);

}  // namespace stint::sched
