// Preempt: a job takes the room of preemptible jobs of its own queue with strictly lower priority.
#pragma once

#include <optional>

#include "sched/search/victims.h"

namespace stint::sched {

std::optional<RoomPlan> preempt_for(State& state, JobId job);

/// One attempt for each waiting job, in order.
std::vector<RoomPlan> preempt_all(State& state);

}  // namespace stint::sched
