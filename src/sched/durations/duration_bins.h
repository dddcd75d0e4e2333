// Durations on a logarithmic scale: bin b holds those from 2^(b/2) seconds up to 2^((b + 1)/2), so a bin is 41 % wide. What is
// shorter than a second is in the first, what is longer than 194 days in the last.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace stint::sched {

inline constexpr int kDurationBins = 48;

int bin_of(Duration d);
/// The shortest of the bin; 0 for the first. @param bin  0 … kDurationBins.
Duration bin_begin(int bin);

/// How likely each bin is, in parts of kWholeMass (a little less in sum, after rounding). Whole numbers: the same on every machine.
using DurationMass = std::array<uint64_t, kDurationBins>;
inline constexpr uint64_t kWholeMass = 1 << 20;

}  // namespace stint::sched
