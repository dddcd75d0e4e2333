// Allocate: waiting tasks get room that is free, or that will be when leaving tasks have left.
#pragma once

#include "sched/search/state.h"

namespace stint::sched {

enum class Placed : uint8_t { kNo, kRunning, kNominated };

/// Places the job's gang, or one more task of an elastic job, within the limits of its queue. Runs it if all of it fits on what
/// is free, else nominates it if it fits on what is coming.
Placed allocate_job(State& state, JobId job);

}  // namespace stint::sched
