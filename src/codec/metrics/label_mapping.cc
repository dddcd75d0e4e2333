#include "codec/metrics/label_mapping.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stint {
namespace {

enum class Origin : uint8_t { kDcgm, kNvidiaGpuExporter, kNode };

struct MetricName {
  std::string_view name;
  Metric metric;
  double factor;
  Origin origin;
};

// Of two names for one metric (DEV_MEM_COPY_UTIL and PROF_DRAM_ACTIVE) the first sample at an instant counts.
// NVLINK_BANDWIDTH_TOTAL, energy and PCIE_REPLAY are counters in units that differ by release: left out.
constexpr std::array kMetricNames = {
    MetricName{"DCGM_FI_DEV_GPU_UTIL", Metric::kUtilization, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_MEM_COPY_UTIL", Metric::kMemoryBandwidth, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_ENC_UTIL", Metric::kEncoder, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_DEC_UTIL", Metric::kDecoder, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_GPU_TEMP", Metric::kTemperature, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_MEMORY_TEMP", Metric::kMemoryTemperature, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_POWER_USAGE", Metric::kPower, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_POWER_MGMT_LIMIT", Metric::kPowerLimit, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_SM_CLOCK", Metric::kSmClock, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_MEM_CLOCK", Metric::kMemoryClock, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_FB_USED", Metric::kMemoryUsed, kMebibyte, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_FB_TOTAL", Metric::kMemoryTotal, kMebibyte, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_XID_ERRORS", Metric::kXid, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", Metric::kEccDoubleBit, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Metric::kThrottleReasons, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Metric::kThrottleReasons, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", Metric::kEngineActive, 100, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_SM_ACTIVE", Metric::kSmActive, 100, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_SM_OCCUPANCY", Metric::kSmOccupancy, 100, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Metric::kTensorActive, 100, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_DRAM_ACTIVE", Metric::kMemoryBandwidth, 100, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_PCIE_TX_BYTES", Metric::kPcieTx, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_PCIE_RX_BYTES", Metric::kPcieRx, 1, Origin::kDcgm},
    MetricName{"DCGM_FI_PROF_NVLINK_TX_BYTES", Metric::kNvlink, 1, Origin::kDcgm},
    // dcgm-exporter 1.x
    MetricName{"dcgm_gpu_utilization", Metric::kUtilization, 1, Origin::kDcgm},
    MetricName{"dcgm_mem_copy_utilization", Metric::kMemoryBandwidth, 1, Origin::kDcgm},
    MetricName{"dcgm_enc_utilization", Metric::kEncoder, 1, Origin::kDcgm},
    MetricName{"dcgm_dec_utilization", Metric::kDecoder, 1, Origin::kDcgm},
    MetricName{"dcgm_gpu_temp", Metric::kTemperature, 1, Origin::kDcgm},
    MetricName{"dcgm_memory_temp", Metric::kMemoryTemperature, 1, Origin::kDcgm},
    MetricName{"dcgm_power_usage", Metric::kPower, 1, Origin::kDcgm},
    MetricName{"dcgm_sm_clock", Metric::kSmClock, 1, Origin::kDcgm},
    MetricName{"dcgm_memory_clock", Metric::kMemoryClock, 1, Origin::kDcgm},
    MetricName{"dcgm_fb_used", Metric::kMemoryUsed, kMebibyte, Origin::kDcgm},
    MetricName{"dcgm_xid_errors", Metric::kXid, 1, Origin::kDcgm},
    MetricName{"dcgm_ecc_dbe_volatile_total", Metric::kEccDoubleBit, 1, Origin::kDcgm},
    // nvidia_gpu_exporter
    MetricName{"nvidia_smi_utilization_gpu_ratio", Metric::kUtilization, 100, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_utilization_memory_ratio", Metric::kMemoryBandwidth, 100, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_utilization_encoder_ratio", Metric::kEncoder, 100, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_utilization_decoder_ratio", Metric::kDecoder, 100, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_memory_used_bytes", Metric::kMemoryUsed, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_memory_total_bytes", Metric::kMemoryTotal, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_power_draw_watts", Metric::kPower, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_power_limit_watts", Metric::kPowerLimit, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_temperature_gpu", Metric::kTemperature, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_temperature_memory", Metric::kMemoryTemperature, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_clocks_current_sm_clock_hz", Metric::kSmClock, 1e-6, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_clocks_current_memory_clock_hz", Metric::kMemoryClock, 1e-6, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_clocks_event_reasons_active", Metric::kThrottleReasons, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_clocks_throttle_reasons_active", Metric::kThrottleReasons, 1, Origin::kNvidiaGpuExporter},
    MetricName{"nvidia_smi_ecc_errors_uncorrected_volatile_total", Metric::kEccDoubleBit, 1, Origin::kNvidiaGpuExporter},
    // node mixin
    MetricName{"instance:node_cpu_utilisation:rate5m", Metric::kHostCpu, 100, Origin::kNode},
};

std::optional<MetricName> find_metric(std::string_view name) {
  constexpr std::string_view kOwn = "stint_";
  if (name.starts_with(kOwn)) {
    // The daemon's own exposition says stint_gpu_…, where a gauge must not end in _total.
    std::string_view own = name.substr(kOwn.size());
    if (own.starts_with("gpu_")) own.remove_prefix(4);
    const auto metric = own == "memory_size" ? Metric::kMemoryTotal : metric_from_name(own);
    if (!metric) return std::nullopt;
    return MetricName{name, *metric, 1, *metric == Metric::kHostCpu ? Origin::kNode : Origin::kNvidiaGpuExporter};
  }
  // DCGM's legacy mode prints the field names in lower case.
  const bool lower_case_field = name.starts_with("dcgm_fi_");
  for (const MetricName& known : kMetricNames)
    if (lower_case_field ? equals_ignoring_case(known.name, name) : known.name == name) return known;
  return std::nullopt;
}

std::string_view find(std::span<const SeriesLabel> labels, std::string_view name) {
  for (const SeriesLabel& label : labels)
    if (label.name == name) return label.value;
  return {};
}

bool has(std::span<const SeriesLabel> labels, std::string_view name) {
  return std::any_of(labels.begin(), labels.end(), [&](const SeriesLabel& l) { return l.name == name; });
}

/// The first of `names` that says something.
std::string_view find_any(std::span<const SeriesLabel> labels, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const std::string_view value = find(labels, name); !value.empty()) return value;
  return {};
}

/// `10.0.0.5:9400`, `[::1]:9400`, `gpu-node-1:9100` → without the port.
std::string_view without_port(std::string_view instance) {
  const size_t colon = instance.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == instance.size()) return instance;
  if (instance.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) return instance;
  const std::string_view host = instance.substr(0, colon);
  const bool bare_ipv6 = host.find(':') != std::string_view::npos && !host.ends_with(']');
  return bare_ipv6 ? instance : host;
}

std::string_view node_label(std::span<const SeriesLabel> labels, const ImportOptions& options) {
  if (const auto name = find_any(labels, {"Hostname", "hostname", "node", "kubernetes_node"}); !name.empty()) return name;
  if (const auto instance = find(labels, "instance"); !instance.empty()) return without_port(instance);
  return options.node;
}

DeviceKey device_of(std::span<const SeriesLabel> labels, const MetricName& metric) {
  DeviceKey device;
  device.uuid = find_any(labels, {"UUID", "uuid"});
  // nvidia_gpu_exporter strips the prefix every other tool prints.
  if (metric.origin == Origin::kNvidiaGpuExporter && device.uuid.size() == 36) device.uuid.insert(0, "GPU-");
  if (const auto index = parse_int(find_any(labels, {"gpu", "index"})); index && *index >= 0 && *index < 1'000'000)
    device.index = static_cast<int>(*index);
  device.model = find_any(labels, {"modelName", "model_name", "name"});
  device.mig_profile = find_any(labels, {"GPU_I_PROFILE", "dra_mig_profile"});
  if (const auto id = parse_int(find(labels, "GPU_I_ID")); id && *id >= 0 && *id < 1'000'000)
    device.mig_instance = static_cast<int>(*id);
  // Without an instance id the MIG device's own UUID keeps instances of one profile apart.
  if (const auto mig_uuid = find(labels, "dra_mig_device_uuid"); device.mig_instance < 0 && !mig_uuid.empty())
    device.uuid = mig_uuid;
  return device;
}

bool is_exporter(std::string_view pod) {
  return pod.find("dcgm-exporter") != std::string_view::npos || pod.find("gpu-exporter") != std::string_view::npos ||
         pod.find("gpu_exporter") != std::string_view::npos || pod.find("node-exporter") != std::string_view::npos;
}

/// Who holds the device. Where Prometheus moved the workload's labels to exported_*, the plain ones are those of
/// the exporter's own pod (dcgm-exporter#340); on an idle device they then stand alone.
Holder holder_of(std::span<const SeriesLabel> labels) {
  Holder holder;
  if (has(labels, "exported_pod") || has(labels, "exported_container") || has(labels, "exported_namespace")) {
    holder.pod = find(labels, "exported_pod");
    holder.ns = find(labels, "exported_namespace");
    holder.container = find(labels, "exported_container");
  } else {
    holder.pod = find_any(labels, {"pod", "pod_name"});
    holder.ns = find_any(labels, {"namespace", "pod_namespace"});
    holder.container = find_any(labels, {"container", "container_name"});
    if (is_exporter(holder.pod) || is_exporter(holder.container)) holder = {};
  }
  if (holder.pod.empty()) holder = {};  // a namespace alone is the scrape target's
  holder.job = find(labels, "hpc_job");
  return holder;
}

/// Of the service itself, on whatever GPUs: codec/metrics/service_figures.h reads that.
bool is_of_a_service(const MetricName& known, std::span<const SeriesLabel> labels) {
  return known.metric == Metric::kLatencyP99 && has(labels, "service") &&
         find_any(labels, {"UUID", "uuid", "gpu", "index"}).empty();
}

}  // namespace

Result<std::optional<MappedSeries>> map_series(std::string_view metric, std::span<const SeriesLabel> labels,
                                               const ImportOptions& options) {
  const auto known = find_metric(metric);
  if (!known) return std::optional<MappedSeries>();
  MappedSeries series;
  series.key.metric = known->metric;
  series.factor = known->factor;
  series.dcgm_blanks = known->origin == Origin::kDcgm;
  if (is_of_a_service(*known, labels)) return std::optional<MappedSeries>();
  if (known->origin != Origin::kNode) {
    series.key.device = device_of(labels, *known);
    series.key.holder = holder_of(labels);
    if (series.key.device.uuid.empty() && series.key.device.index < 0)
      return invalid("{} names no GPU: it needs a label UUID, uuid or gpu", metric);
  }
  series.key.device.node = node_label(labels, options);
  if (series.key.device.node.empty())
    return invalid("{} names no machine (Hostname, hostname, node or instance): pass --node NAME", metric);
  return std::optional(std::move(series));
}

}  // namespace stint
