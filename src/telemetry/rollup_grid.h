// The grids on which sketches count, see rollup.h. Internal to telemetry.
//
// Percentages: key = twice the value, rounded. Other metrics, with γ = 1.01 / 0.99: a value x > 0 has the key
// kLogOrigin + ⌈log_γ x⌉, which stands for 2 γ^k / (γ + 1), at most 1 % from x; 0 has key 0; −x mirrors x.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/metric.h"

namespace stint::grid {

/// Larger than −⌈log_γ⌉ of the smallest double, so that keys of positive values are positive.
inline constexpr int32_t kLogOrigin = 40'000;
/// No grid has keys beyond ± this.
inline constexpr int32_t kLargestKey = 80'000;
/// The largest key of a percentage that counts as idle: half a point.
inline constexpr int32_t kLowKey = 1;
inline constexpr double kLogGamma = 0.020000666706669435;  // ln(1.01 / 0.99)

inline int32_t log_key(double magnitude) {
  return kLogOrigin + static_cast<int32_t>(std::ceil(std::log(magnitude) * (1 / kLogGamma)));
}

/// @param value  finite.
inline int32_t key_of(Metric metric, double value) {
  if (is_percentage(metric))
    return static_cast<int32_t>(std::lrint(std::clamp(value * 2, -1.0 * kLargestKey, 1.0 * kLargestKey)));
  if (value == 0) return 0;
  return value > 0 ? log_key(value) : -log_key(-value);
}

inline double value_of(Metric metric, int32_t key) {
  if (is_percentage(metric)) return key / 2.0;
  if (key == 0) return 0;
  const double magnitude = std::exp((std::abs(key) - kLogOrigin) * kLogGamma) * 0.99;  // 2 / (γ + 1) = 0.99
  return key > 0 ? magnitude : -magnitude;
}

}  // namespace stint::grid
