// The season profile: effects of hour and weekday around a moving level (telemetry/forecast_methods.h says the idea).
#pragma once

#include <span>

#include "telemetry/forecast_methods.h"

namespace stint {

struct ProfileOptions {
  bool by_factors = false;  ///< effects multiply; where a value is not positive they add all the same
  bool trend = false;
  bool longest_only = false;  ///< effects of the longest season alone, believed as they are
};

/// @param past  has at least one known value. @param out  one value per coming step is written.
void season_profile(const ForecastPast& past, const ProfileOptions& options, std::span<double> out);

}  // namespace stint
