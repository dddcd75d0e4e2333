// Demand series from a file, with what was rejected said on standard error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "telemetry/demand_series.h"

namespace stint {

/// @param path  CSV (codec/traces/demand_csv.h), may be gzipped. @param step  none: by the length of what is in it.
Result<std::vector<DemandSeries>> read_demand(const std::string& path, std::optional<Duration> step);

}  // namespace stint
