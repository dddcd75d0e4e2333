#include "codec/metrics/prometheus_metric.h"

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

std::string gauge_name(Metric metric) {
  // A gauge must not end in _total.
  return metric == Metric::kMemoryTotal ? "stint_gpu_memory_size" : fmt::format("stint_gpu_{}", info_of(metric).name);
}

bool is_of_gpu(Metric metric) {
  return metric != Metric::kHostCpu && metric != Metric::kRequestRate && metric != Metric::kLatencyP99;
}

namespace {

/// Times a factor, where it is not 1.
std::string times(double factor, std::string expression) {
  return factor == 1 ? expression : fmt::format("{:.10g} * {}", factor, expression);
}

/// How each selector is written.
struct Selection {
  std::string_view matchers, window;

  [[nodiscard]] std::string of(std::string_view name, std::string_view more = "") const {
    std::string inside(matchers);
    if (!more.empty()) inside += (inside.empty() ? "" : ",") + std::string(more);
    std::string text = std::string(name) + (inside.empty() ? "" : "{" + inside + "}");
    return window.empty() ? text : fmt::format("avg_over_time({}[{}])", text, window);
  }
};

std::string dcgm_value(Metric metric, const Selection& selection) {
  const ScrapedMetric source = scraped(metric);
  std::string sum;
  for (const std::string_view part : source.parts)
    sum += (sum.empty() ? "" : " + ") + selection.of(part);
  return times(source.factor, source.parts.size() > 1 ? "(" + sum + ")" : sum);
}

std::string daemon_value(Metric metric, const Selection& selection) {
  const bool memory = metric == Metric::kMemoryUsed || metric == Metric::kMemoryTotal;
  return selection.of(gauge_name(metric)) + (memory ? " / 1048576" : "");
}

}  // namespace

std::string from_any_exporter(Metric metric, std::string_view matchers, std::string_view window) {
  const Selection selection{matchers, window};
  std::vector<std::string> sources = {dcgm_value(metric, selection), daemon_value(metric, selection)};
  if (metric == Metric::kUtilization) {
    // What a cut GPU reports as a whole says nothing about its instances.
    constexpr std::string_view kInstance = "GPU_I_ID!=\"\"";
    const std::string dcgm_cut = selection.of(scraped(Metric::kEngineActive).parts.front(), kInstance);
    const std::string daemon_cut = selection.of(gauge_name(Metric::kEngineActive), kInstance);
    sources = {fmt::format("({} unless on (UUID) {})", sources[0], dcgm_cut), dcgm_value(Metric::kEngineActive, selection),
               fmt::format("({} unless on (UUID) {})", sources[1], daemon_cut), daemon_value(Metric::kEngineActive, selection)};
  }
  std::string any;
  for (const std::string& source : sources)
    any += (any.empty() ? "" : " or on (UUID, GPU_I_ID) ") + source;
  return fmt::format("max by (Hostname, gpu, UUID, GPU_I_ID, GPU_I_PROFILE) ({})", any);
}

std::string series_of(Metric metric) {
  return is_of_gpu(metric) ? fmt::format("gpu:{}", info_of(metric).name) : std::string(scraped(metric).parts.front());
}

std::string average_over(Metric metric, std::string_view window) {
  return fmt::format("avg_over_time({}{})", series_of(metric), window);
}

std::string promql_duration(int64_t minutes) {
  if (minutes % (24 * 60) == 0) return fmt::format("{}d", minutes / (24 * 60));
  if (minutes % 60 == 0) return fmt::format("{}h", minutes / 60);
  return fmt::format("{}m", minutes);
}

}  // namespace stint
