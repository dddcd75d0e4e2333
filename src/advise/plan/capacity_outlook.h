// A forecast held against what there is: when it runs out, what to buy, what to release.
#pragma once

#include <optional>
#include <string>

#include "telemetry/forecast.h"

namespace stint {

/// Something of a fixed amount, in the unit of the forecast: GPUs of the fleet, GPUs under commitment, a budget per hour.
struct CapacityLimit {
  enum class Kind { kCapacity, kCommitment };
  Kind kind = Kind::kCapacity;
  double amount = 0;  ///< > 0
};

struct CapacityOutlook {
  CapacityLimit limit;
  std::optional<Duration>
      short_expected;  ///< from the forecast's begin until the expected demand is above it; none: not in the horizon
  std::optional<Duration> short_p90;  ///< the same of the demand that is exceeded one time in ten
  double peak_expected = 0;
  double peak_p90 = 0;
  double mean_used = 0;    ///< of the limit, expected: min(demand, limit), mean over the horizon
  double mean_beyond = 0;  ///< expected demand above the limit, mean over the horizon
  double to_buy = 0;       ///< that the p90 demand fits at its peak; whole units for GPUs by rounding up
  double to_release = 0;  ///< that is not needed at the p95 peak; rounded down; for a commitment: not needed in any expected hour
  [[nodiscard]] double used_share() const { return limit.amount > 0 ? mean_used / limit.amount : 0; }
};

CapacityOutlook outlook(const Forecast& forecast, const CapacityLimit& limit);

}  // namespace stint
