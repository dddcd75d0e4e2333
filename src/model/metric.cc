#include "model/metric.h"

#include "base/check.h"

namespace stint {
namespace {

constexpr std::array<MetricInfo, kMetricCount> kMetrics = {{
    {Metric::kUtilization, "utilization", "%"},
    {Metric::kMemoryUsed, "memory_used", "bytes"},
    {Metric::kMemoryTotal, "memory_total", "bytes"},
    {Metric::kMemoryBandwidth, "memory_bandwidth", "%"},
    {Metric::kSmActive, "sm_active", "%"},
    {Metric::kSmOccupancy, "sm_occupancy", "%"},
    {Metric::kTensorActive, "tensor_active", "%"},
    {Metric::kTemperature, "temperature", "°C"},
    {Metric::kMemoryTemperature, "memory_temperature", "°C"},
    {Metric::kPower, "power", "W"},
    {Metric::kPowerLimit, "power_limit", "W"},
    {Metric::kSmClock, "sm_clock", "MHz"},
    {Metric::kMemoryClock, "memory_clock", "MHz"},
    {Metric::kPcieTx, "pcie_tx", "bytes/s"},
    {Metric::kPcieRx, "pcie_rx", "bytes/s"},
    {Metric::kNvlink, "nvlink", "bytes/s"},
    {Metric::kXid, "xid", "count"},
    {Metric::kEccDoubleBit, "ecc_double_bit", "count"},
    {Metric::kThrottleReasons, "throttle_reasons", "bits"},
    {Metric::kEngineActive, "engine_active", "%"},
    {Metric::kHostCpu, "host_cpu", "%"},
    {Metric::kEncoder, "encoder", "%"},
    {Metric::kDecoder, "decoder", "%"},
    {Metric::kRequestRate, "request_rate", "requests/s"},
    {Metric::kLatencyP99, "latency_p99", "ms"},
}};

}  // namespace

const MetricInfo& info_of(Metric m) {
  const auto index = static_cast<size_t>(m);
  CHECK(index < kMetrics.size() && kMetrics[index].metric == m, "metric {}", index);
  return kMetrics[index];
}

std::optional<Metric> metric_from_name(std::string_view name) {
  for (const MetricInfo& info : kMetrics)
    if (info.name == name) return info.metric;
  return std::nullopt;
}

}  // namespace stint
