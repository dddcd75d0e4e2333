#include "catalog/measured.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/tables.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 4> kRateNames = {"fp32_tflops", "tf32_tflops", "16bit_tflops", "memory_gb_s"};

std::string plain(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

std::string_view name_of(GpuRate rate) { return kRateNames[static_cast<size_t>(rate)]; }

Result<GpuRate> parse_gpu_rate(std::string_view text) {
  const auto it = std::find(kRateNames.begin(), kRateNames.end(), trim(text));
  if (it == kRateNames.end()) return invalid("'{}' is no rate: use {}", excerpt(text), fmt::join(kRateNames, ", "));
  return static_cast<GpuRate>(it - kRateNames.begin());
}

std::string write_measurements(std::span<const GpuMeasurement> rows) {
  std::string csv = fmt::format("{}\n", fmt::join(kMeasurementColumns, ","));
  for (const GpuMeasurement& m : rows)
    csv += fmt::format("{},{},{:.6g},{:.6g},{:.6g},{},{},{}\n", plain(m.gpu_model), name_of(m.rate), m.median, m.lowest,
                       m.highest, m.repeats, plain(m.source), format_utc(m.as_of));
  return csv;
}

}  // namespace stint
