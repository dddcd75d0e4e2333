// The catalogue a command works with: the built-in one, with the prices of a History laid over it.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "catalog/measured_pairs.h"
#include "cli/cli.h"

namespace stint {

/// @param history_path  empty = built-in prices only.
Result<Catalog> open_catalog(const std::string& history_path);

/// The same with the measured rates of `measured_path` (written by stint bench) laid over it; empty = none.
Result<Catalog> open_catalog(const std::string& history_path, const std::string& measured_path);

/// The whole of a file of measurements. @return error with file:line.
Result<std::vector<GpuMeasurement>> read_measurements(const std::string& path);
/// A file of `stint bench share --save`.
Result<std::vector<PairMeasurement>> read_pairs(const std::string& path);

/// Below `catalog`.
void add_catalog_refresh_command(Command& catalog, Action& action);

/// Says on stderr how many of the shown prices are older than kPriceStaleAfter; silent when none is.
void warn_of_stale_prices(size_t stale, size_t shown);

}  // namespace stint
