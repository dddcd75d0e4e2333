// A round: every waiting job has its chance, one kind of action after the other.
#pragma once

#include <span>

#include "sched/state.h"

namespace stint::sched {

enum class Step : uint8_t { kAllocate, kConsolidate, kReclaim, kPreempt, kStaleGang };

/// Divides the shares, then takes the steps in order.
void run_round(State& state, std::span<const Step> steps);

}  // namespace stint::sched
