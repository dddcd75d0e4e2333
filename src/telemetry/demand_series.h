// A demand over time in equal steps: requests, GPUs in use, money per hour.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace stint {

/// One value per step; none = not measured, which is not zero.
struct DemandSeries {
  std::string name;  ///< what is counted, in words: "GPUs in use"
  std::string unit;  ///< of the values: "GPUs", "requests/s"
  Instant begin;     ///< of the first step
  Duration step = kHour;
  std::vector<std::optional<double>> values;

  /// Start of step `i`; `values.size()` is the end of what is known.
  [[nodiscard]] Instant at(size_t i) const { return begin + step * static_cast<int64_t>(i); }
  [[nodiscard]] Instant end() const { return at(values.size()); }
};

}  // namespace stint
