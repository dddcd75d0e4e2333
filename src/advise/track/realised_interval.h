// How sure a realised saving is: the weeks before the change and the weeks after it, drawn again.
//
// Weeks differ in demand and in luck. Drawing as many weeks as there are, with replacement and each side by itself, and working the
// saving out anew each time, shows how much of it such differences could have made (block bootstrap with blocks of a week: days of a week
// hang together). It does not show what was not in these weeks. Source: Künsch 1989.
#pragma once

#include <optional>
#include <span>

#include "advise/track/realised_saving.h"

namespace stint {

/// The middle 80 %.
struct RealisedInterval {
  Money p10, p90;  ///< per month, at the demand of before
  int64_t weeks_before = 0, weeks_after = 0;
};

/// @param before, after  a week each. @return none with fewer than two weeks on either side, or without work to compare.
std::optional<RealisedInterval> realised_interval(std::span<const CostAndWork> before, std::span<const CostAndWork> after,
                                                  double price_index, uint64_t seed = 42, int draws = 400);

}  // namespace stint
