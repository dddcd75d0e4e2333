// Reclaim: a queue that holds less than its share takes back room from queues that hold more than theirs (sched/search/claim.h). No
// victim may get the room back before the claimant when it is given out in turn.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/search/claim.h"

namespace stint::sched {

/// @param ahead  the waiting jobs of its queue whose turn comes before.
std::optional<RoomPlan> reclaim_for(State& state, JobId job, std::span<const JobId> ahead = {});

/// One attempt for each waiting job, in order.
std::vector<RoomPlan> reclaim_all(State& state);

}  // namespace stint::sched
