// Reads a demand by the hour from CSV: column hour, and one of instances, gpus, demand, count (others are ignored).
//
//   hour        a whole number, or a UTC instant on the hour (ISO 8601); each one hour after the row before it
//   instances   whole number in use in that hour
//
// A plan rests on every hour: a hole, a repetition or a number that cannot be is an error with its line, not a row left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

inline constexpr int64_t kMaxDemandHours = 200'000;         // 22 years
inline constexpr int64_t kMaxDemandInstances = 10'000'000;  // in one hour

/// @param source  file name, for messages.
/// @return in use per hour, at least one hour; error with file:line and what to do.
Result<std::vector<int64_t>> read_hourly_demand(std::string_view bytes, const std::string& source);

}  // namespace stint
