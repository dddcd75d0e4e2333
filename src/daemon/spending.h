// What runs have cost over time, for a curve: a window cut into pieces of equal length.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "daemon/engine/views.h"

namespace stint {

struct SpendingPiece {
  Instant from;
  Money cost;                ///< of what ran in it, at the prices of now
  int64_t gpu_milli_ms = 0;  ///< thousandths of GPUs held × milliseconds
};

/// @param pieces  ≥ 1; the window is cut to a whole number of nanoseconds per piece. @param window  not empty; what runs still
/// runs to its end.
std::vector<SpendingPiece> spending_over(std::span<const RunView> runs, Interval window, size_t pieces, Currency currency);

}  // namespace stint
