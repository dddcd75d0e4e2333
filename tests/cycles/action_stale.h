// Stale gangs: a job that has lost so many tasks that it cannot work holds its room for nothing; after a time it gives it back.
#pragma once

#include <vector>

#include "sched/search/state.h"

namespace stint::sched {

/// Notes since when the job's gang is broken; when that is StateRules::stale_gang_grace ago or longer, all its running tasks
/// are told to leave. @return whether they were.
bool evict_if_stale(State& state, JobId job);

/// @return the jobs whose tasks were told to leave.
std::vector<JobId> evict_all_stale(State& state);

}  // namespace stint::sched
