// A scheduling cycle: every waiting job has its chance, one kind of action after the other.
#pragma once

#include <span>

#include "sched/search/state.h"

namespace stint::sched {

enum class Step : uint8_t { kAllocate, kConsolidate, kReclaim, kPreempt, kStaleGang };

/// All waiting jobs in order; a job that got something has its next turn among the others.
void allocate_all(State& state);

/// Divides the shares, then takes the steps in order.
void run_cycle(State& state, std::span<const Step> steps);

}  // namespace stint::sched
