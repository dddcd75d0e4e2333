// The plain methods a forecast is combined from (telemetry/forecast.h). Each sees a past and says one value per coming step.
//
//   naive           the last known value stays
//   seasonal-naive  the last known value of the same phase of the season: what every forecast has to beat
//   phase mean      the mean of the same phase, younger cycles counting more
//   smoothing       exponential smoothing, at three speeds (Brown 1956)
//   damped trend    Holt's two smoothers with a trend that fades (Gardner and McKenzie 1985)
//   profile         season effects around a moving level: hour-of-day effects from all days, and day-of-week × hour effects as far
//                   as the weeks seen support them; what remains is a slow level plus a deviation that fades at the rate it
//                   has faded before (an autoregression of order one). Also on a logarithmic scale, where busy hours swing by
//                   a factor, and with a robust trend (Theil 1950, Sen 1968).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"

namespace stint {

/// What a method may look at. Missing values are skipped, never taken as zero.
struct ForecastPast {
  std::span<const std::optional<double>> values;
  std::span<const size_t> seasons;  ///< in steps, ascending; those longer than half the past are left out by the profile
};

enum class ForecastMethod {
  kNaive,
  kSeasonalNaiveShort,  ///< the shortest season
  kSeasonalNaiveLong,   ///< the longest season there has been once
  kPhaseMean,
  kSmoothFast,
  kSmoothMedium,
  kSmoothSlow,
  kDampedTrend,
  kProfile,
  kProfileLog,
  kProfileTrend,
  kProfileLongest,
};
inline constexpr size_t kForecastMethodCount = 12;
std::string_view name_of(ForecastMethod method);

/// @param out  one value per coming step is written. @param past  has at least one known value.
void forecast_with(ForecastMethod method, const ForecastPast& past, std::span<double> out);

/// The last known value `season` × k steps before each coming step, for the smallest k; the last known value where there is none.
void seasonal_naive(std::span<const std::optional<double>> past, size_t season, std::span<double> out);

/// The calendar's periods in steps, ascending: minute, hour, day, week; those that hold at least six steps.
std::vector<size_t> seasons_of(Duration step);

}  // namespace stint
