// The catalogue's tables as text: what is compiled in, and strict parsing of the three files.
//
// The files are comma-separated without quoting (a quote is an error), with the header exactly as documented in
// docs/formats.md; lines beginning with # are comments.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"

namespace stint {

/// The files of catalog/ as they were when this binary was built.
std::string_view embedded_gpus_csv();
std::string_view embedded_instances_csv();
std::string_view embedded_prices_csv();
std::string_view embedded_timed_csv();

/// @return error with FILE:LINE: of the first row that is not as it must be.
Result<std::vector<GpuFacts>> parse_gpus(std::string_view csv);
Result<std::vector<InstanceType>> parse_instances(std::string_view csv);
Result<std::vector<PriceRow>> parse_prices(std::string_view csv);

/// Of a file of measurements (catalog/measured.h), which has the same grammar.
inline constexpr std::array<std::string_view, 8> kMeasurementColumns = {"gpu_model", "rate",    "median", "lowest",
                                                                        "highest",   "repeats", "source", "as_of"};

/// Of a file of pairs (catalog/measured_pairs.h), likewise.
inline constexpr std::array<std::string_view, 10> kPairColumns = {"gpu_model", "mode",    "workload", "neighbour", "median",
                                                                  "lowest",    "highest", "repeats",  "source",    "as_of"};

}  // namespace stint
