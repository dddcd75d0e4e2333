#include "codec/prometheus_metric.h"

#include <fmt/format.h>

namespace stint {

ScrapedMetric scraped(Metric metric) {
  switch (metric) {
    case Metric::kUtilization: return {{"DCGM_FI_DEV_GPU_UTIL"}};
    case Metric::kMemoryUsed: return {{"DCGM_FI_DEV_FB_USED"}};
    // The default counters have no total.
    case Metric::kMemoryTotal: return {{"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"}};
    case Metric::kSmActive: return {{"DCGM_FI_PROF_SM_ACTIVE"}, 100};
    case Metric::kSmOccupancy: return {{"DCGM_FI_PROF_SM_OCCUPANCY"}, 100};
    case Metric::kTensorActive: return {{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"}, 100};
    case Metric::kMemoryBandwidth: return {{"DCGM_FI_PROF_DRAM_ACTIVE"}, 100};
    case Metric::kEngineActive: return {{"DCGM_FI_PROF_GR_ENGINE_ACTIVE"}, 100};
    case Metric::kTemperature: return {{"DCGM_FI_DEV_GPU_TEMP"}};
    case Metric::kMemoryTemperature: return {{"DCGM_FI_DEV_MEMORY_TEMP"}};
    case Metric::kPower: return {{"DCGM_FI_DEV_POWER_USAGE"}};
    case Metric::kPowerLimit: return {{"DCGM_FI_DEV_POWER_MGMT_LIMIT"}};
    case Metric::kSmClock: return {{"DCGM_FI_DEV_SM_CLOCK"}};
    case Metric::kMemoryClock: return {{"DCGM_FI_DEV_MEM_CLOCK"}};
    case Metric::kPcieTx: return {{"DCGM_FI_PROF_PCIE_TX_BYTES"}};
    case Metric::kPcieRx: return {{"DCGM_FI_PROF_PCIE_RX_BYTES"}};
    case Metric::kNvlink: return {{"DCGM_FI_PROF_NVLINK_TX_BYTES"}};
    case Metric::kXid: return {{"DCGM_FI_DEV_XID_ERRORS"}};
    case Metric::kEccDoubleBit: return {{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"}};
    case Metric::kThrottleReasons: return {{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS"}};
    case Metric::kEncoder: return {{"DCGM_FI_DEV_ENC_UTIL"}};
    case Metric::kDecoder: return {{"DCGM_FI_DEV_DEC_UTIL"}};
    case Metric::kHostCpu: return {{"stint_host_cpu"}};
    case Metric::kRequestRate: return {{"stint_request_rate"}};
    case Metric::kLatencyP99: return {{"stint_latency_p99"}};
  }
  return {};
}

std::string average_over(Metric metric, std::string_view window) {
  const ScrapedMetric source = scraped(metric);
  std::string sum;
  for (const std::string_view part : source.parts)
    sum += fmt::format("{}avg_over_time({}{})", sum.empty() ? "" : " + ", part, window);
  if (source.parts.size() > 1) sum = "(" + sum + ")";
  return source.factor == 1 ? sum : fmt::format("{:g} * {}", source.factor, sum);
}

std::string promql_duration(int64_t minutes) {
  if (minutes % (24 * 60) == 0) return fmt::format("{}d", minutes / (24 * 60));
  if (minutes % 60 == 0) return fmt::format("{}h", minutes / 60);
  return fmt::format("{}m", minutes);
}

}  // namespace stint
