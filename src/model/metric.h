// The metrics Stint keeps, their units and how their distributions are summarised.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stint {

/// Stored by number in the History file: append, never renumber.
enum class Metric : uint8_t {
  kUtilization = 0,        ///< % of time a kernel ran: NVML utilization.gpu, DCGM_FI_DEV_GPU_UTIL
  kMemoryUsed = 1,         ///< bytes
  kMemoryTotal = 2,        ///< bytes
  kMemoryBandwidth = 3,    ///< % of time (NVML utilization.memory) or of cycles (PROF_DRAM_ACTIVE)
  kSmActive = 4,           ///< %
  kSmOccupancy = 5,        ///< %
  kTensorActive = 6,       ///< %
  kTemperature = 7,        ///< °C
  kMemoryTemperature = 8,  ///< °C
  kPower = 9,              ///< W
  kPowerLimit = 10,        ///< W
  kSmClock = 11,           ///< MHz
  kMemoryClock = 12,       ///< MHz
  kPcieTx = 13,            ///< bytes/s
  kPcieRx = 14,            ///< bytes/s
  kNvlink = 15,            ///< bytes/s
  kXid = 16,               ///< last XID code, 0 = none; does not clear by itself
  kEccDoubleBit = 17,      ///< count since boot
  kThrottleReasons = 18,   ///< bit mask as NVML clocks_event_reasons.active
  kEngineActive = 19,      ///< %: PROF_GR_ENGINE_ACTIVE, stands in for kUtilization under MIG
  kHostCpu = 20,           ///< % of the node's CPUs
  kEncoder = 21,           ///< %
  kDecoder = 22,           ///< %
  kRequestRate = 23,       ///< requests/s served
  kLatencyP99 = 24,        ///< ms
};
inline constexpr size_t kMetricCount = 25;

struct MetricInfo {
  Metric metric;
  std::string_view name;  ///< stable, lower case with underscores; used in JSON and on the command line
  std::string_view unit;  ///< "%", "bytes", "°C", "W", "MHz", "bytes/s", "count", "requests/s", "ms", "bits"
};

/// A percentage is summarised on a half-point grid; everything else on a logarithmic one.
inline constexpr bool is_percentage(Metric m) {
  switch (m) {
    case Metric::kUtilization:
    case Metric::kMemoryBandwidth:
    case Metric::kSmActive:
    case Metric::kSmOccupancy:
    case Metric::kTensorActive:
    case Metric::kEngineActive:
    case Metric::kHostCpu:
    case Metric::kEncoder:
    case Metric::kDecoder: return true;
    default: return false;
  }
}

/// Can `m` have this value at all? Percentages end at 100 (ratios overshoot by a rounding), and only temperatures fall below zero.
inline constexpr bool is_plausible(Metric m, double value) {
  if (m == Metric::kTemperature || m == Metric::kMemoryTemperature) return value > -100 && value < 1000;
  return value >= 0 && (!is_percentage(m) || value <= 101);
}

const MetricInfo& info_of(Metric m);
std::optional<Metric> metric_from_name(std::string_view name);

}  // namespace stint
