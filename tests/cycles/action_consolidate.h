// Consolidate: running jobs move closer together so that a waiting one fits. Every job that moves has a place.
#pragma once

#include <optional>

#include "sched/search/victims.h"

namespace stint::sched {

/// For a preemptible job: moves running preemptible jobs of any queue if then all of them and the job have a place.
std::optional<RoomPlan> consolidate_for(State& state, JobId job);

/// One attempt for each waiting job, in order.
std::vector<RoomPlan> consolidate_all(State& state);

}  // namespace stint::sched
