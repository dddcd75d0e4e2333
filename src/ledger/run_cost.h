// What a run costs: its part of a machine, times the machine's price, times how long. One rounding.
#pragma once

#include <cstdint>

#include "base/money.h"
#include "base/time.h"

namespace stint {

/// `node_rate` × `held` / `capacity` × `duration`, rounded half to even to the nano-unit.
/// @param held  of `capacity`, both in the same unit such as thousandths of GPUs; 0 ≤ held ≤ capacity.
/// @param capacity  0 = the machine has none of it: costs nothing. @param duration  ≥ 0, less than 290 years.
Money cost_of_run(Rate node_rate, int64_t held, int64_t capacity, Duration duration);

}  // namespace stint
