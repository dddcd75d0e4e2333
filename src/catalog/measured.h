// Measured rates of GPU models, as `stint bench` writes them: they take the place of data-sheet estimates in sizing.
//
// One CSV row per model, rate and occasion (docs/formats.md); the file may grow, the newest row of a model counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

enum class GpuRate { kFp32, kTf32, k16Bit, kMemory };
std::string_view name_of(GpuRate rate);  // "fp32_tflops", "tf32_tflops", "16bit_tflops", "memory_gb_s"
Result<GpuRate> parse_gpu_rate(std::string_view text);

struct GpuMeasurement {
  std::string gpu_model;  ///< as the catalogue or the driver calls it
  GpuRate rate = GpuRate::kFp32;
  double median = 0;  ///< 10¹² operations/s or 10⁹ bytes/s; above zero, as are the next two
  double lowest = 0;
  double highest = 0;
  int64_t repeats = 0;
  std::string source;
  Instant as_of;
};

/// What was measured of a model; absent = not measured.
struct MeasuredRates {
  std::optional<double> fp32_tflops;
  std::optional<double> tf32_tflops;
  std::optional<double> half_tflops;  ///< BF16, or FP16 where the GPU has no BF16
  std::optional<double> memory_gb_s;
  std::string source;  ///< of the newest
  Instant as_of;
};

/// @param file  its name, for messages. @return error with file:line at the first row that makes no sense.
Result<std::vector<GpuMeasurement>> parse_measurements(std::string_view file, std::string_view csv);
/// The file whole, header included. Commas, quotes and line ends in names become spaces.
std::string write_measurements(std::span<const GpuMeasurement> rows);

}  // namespace stint
