#include "advise/find/diagnosis.h"

#include <algorithm>

namespace stint {
namespace {

constexpr double kWellUsedPct = 60;
constexpr double kHotC = 85;  // a GPU that works at this is at, or just below, where it lowers its clocks

/// ActiveMean of a metric over hours in which its device was active.
struct ActiveMean {
  double sum = 0;
  double weight = 0;
  void add(const HourlySeries* series, const HourlySeries& activity) {
    if (series == nullptr) return;
    for (size_t h = 0; h < std::min(series->hours.size(), activity.hours.size()); ++h) {
      const HourlySeries::Hour& value = series->hours[h];
      const HourlySeries::Hour& active = activity.hours[h];
      if (value.covered_s == 0 || active.covered_s == 0) continue;
      // The active part of the hour is what the mean of the utilisation is spread over.
      const double part = 1 - active.idle_permille / 1000.0;
      sum += value.mean * value.covered_s;
      weight += part * value.covered_s;
    }
  }
  void add_level(const HourlySeries* series, const HourlySeries& activity) {
    if (series == nullptr) return;
    for (size_t h = 0; h < std::min(series->hours.size(), activity.hours.size()); ++h) {
      if (series->hours[h].covered_s == 0 || activity.hours[h].covered_s == 0 || activity.hours[h].idle_permille > 500) continue;
      sum += static_cast<double>(series->hours[h].mean) * series->hours[h].covered_s;
      weight += series->hours[h].covered_s;
    }
  }
  [[nodiscard]] std::optional<double> get() const { return weight > 0 ? std::optional(sum / weight) : std::nullopt; }
};

/// Usable one-way PCIe bandwidth of x16, 10⁹ bytes/s, by generation of the GPU's architecture.
double pcie_limit_gb_s(const GpuFacts* gpu) {
  if (gpu == nullptr) return 12;
  if (gpu->architecture == "Hopper" || gpu->architecture.starts_with("Blackwell")) return 50;
  if (gpu->architecture.starts_with("Ampere") || gpu->architecture.starts_with("Ada")) return 25;
  return 12;
}

bool trains(WorkloadKind kind) { return kind == WorkloadKind::kTraining || kind == WorkloadKind::kFineTuning; }

/// "about 1.4 × the work per hour": to 85 % from what it is when active.
std::string worth(double active_pct) {
  return fmt::format("worth up to {:.1f} × the work per GPU-hour", std::min(4.0, 85 / std::max(active_pct, 10.0)));
}

void find_starvation(std::vector<std::string>& out, const ActiveMetrics& m) {
  if (m.host_cpu_pct.value_or(0) < 85 || *m.utilization_pct >= kWellUsedPct) return;
  out.push_back(fmt::format(
      "CPU starves the GPU: host CPU {:.0f} %, GPU {:.0f} % when active. More data-loader workers or CPUs per GPU, prefetch, "
      "pinned memory, decode on the GPU or beforehand; {}",
      *m.host_cpu_pct, *m.utilization_pct, worth(*m.utilization_pct)));
}

void find_pcie(std::vector<std::string>& out, const ActiveMetrics& m, const GpuFacts* gpu) {
  const double limit = pcie_limit_gb_s(gpu);
  if (m.pcie_gb_s.value_or(0) < 0.6 * limit) return;
  out.push_back(fmt::format(
      "PCIe bound: {:.1f} of about {:.0f} GB/s into the GPU. Keep data and caches on the GPU, pin memory and overlap copies, "
      "send smaller types; {}",
      *m.pcie_gb_s, limit, worth(*m.utilization_pct)));
}

void find_bandwidth(std::vector<std::string>& out, const ActiveMetrics& m) {
  if (m.bandwidth_pct.value_or(0) < 70 || m.tensor_pct.value_or(0) >= 30) return;
  out.push_back(fmt::format(
      "memory-bandwidth bound: DRAM {:.0f} % busy, tensor cores {}. BF16 or INT8 halves the bytes, larger batches reuse them, "
      "fused kernels (CUDA graphs, XLA, torch.compile) save passes; worth up to 2 ×",
      *m.bandwidth_pct, m.tensor_pct ? fmt::format("{:.0f} %", *m.tensor_pct) : "not measured"));
}

void find_small_batch(std::vector<std::string>& out, const NodeFacts& node, const ActiveMetrics& m) {
  if (is_interactive(node.kind)) return;  // there demand sets the pace, not the batch
  const bool light = *m.utilization_pct < kWellUsedPct || m.sm_occupancy_pct.value_or(100) < 30;
  const bool starved = m.host_cpu_pct.value_or(0) >= 85;
  if (!light || starved || m.memory_pct.value_or(100) >= 50) return;
  out.push_back(fmt::format(
      "batch too small: {:.0f} % of the memory used, GPU {:.0f} % when active. Raise the batch until memory is at 80–90 % "
      "(gradient accumulation keeps the effective batch where accuracy needs it); {}",
      *m.memory_pct, *m.utilization_pct, worth(*m.utilization_pct)));
}

void find_idle_tensor_cores(std::vector<std::string>& out, const NodeFacts& node, const ActiveMetrics& m) {
  // Without SM activity the utilisation says that kernels run.
  const double active = m.sm_active_pct.value_or(*m.utilization_pct);
  if (!trains(node.kind) || !m.tensor_pct || *m.tensor_pct >= 10 || active < 50) return;
  out.push_back(fmt::format(
      "tensor cores idle ({:.0f} %) while the {} {:.0f} % active: train in BF16 (AMP); worth up to 2 × on matrix work",
      *m.tensor_pct, m.sm_active_pct ? "SMs are" : "GPU is", active));
}

void find_heat(std::vector<std::string>& out, const ActiveMetrics& m) {
  if (m.temperature_c.value_or(0) < kHotC) return;
  const bool known = m.sm_clock_mhz && m.sm_clock_max_mhz && *m.sm_clock_mhz > 0;
  out.push_back(fmt::format(
      "throttled by heat: {:.0f} °C while it works{}. Cooling, fans and airflow, or a power limit that it holds without stops; "
      "{}",
      *m.temperature_c,
      known ? fmt::format(", SM clock {:.0f} of the {:.0f} MHz that it reached", *m.sm_clock_mhz, *m.sm_clock_max_mhz) : "",
      known ? fmt::format("worth up to {:.2f} × the work per GPU-hour", *m.sm_clock_max_mhz / *m.sm_clock_mhz)
            : "what it is worth is not known: SM clocks were not measured"));
}

void find_capped_concurrency(std::vector<std::string>& out, const NodeFacts& node, const ActiveMetrics& m) {
  const bool flat = m.utilization_max_pct && *m.utilization_max_pct < kWellUsedPct;
  if (node.kind != WorkloadKind::kRealtimeInference || !flat || *m.utilization_pct < 5) return;
  out.push_back(fmt::format(
      "concurrency capped, or too little demand: never above {:.0f} % in any sample{}. More model instances or dynamic batching "
      "if requests queue; otherwise share the GPU",
      *m.utilization_max_pct, m.request_rate ? fmt::format(", {:.1f} requests/s", *m.request_rate) : ""));
}

void name_missing(std::vector<std::string>& out, const ActiveMetrics& m) {
  std::string missing;
  const auto need = [&](bool known, const char* name) {
    if (!known) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  need(m.host_cpu_pct.has_value(), "host CPU");
  need(m.pcie_gb_s.has_value(), "PCIe traffic");
  need(m.bandwidth_pct.has_value(), "memory bandwidth");
  need(m.tensor_pct.has_value(), "tensor activity");
  if (!missing.empty()) out.push_back("not measured, so not ruled out: " + missing);
}

}  // namespace

ActiveMetrics active_metrics(const NodeFacts& node, const Usage& usage) {
  ActiveMean utilization, sm, occupancy, tensor, bandwidth, pcie, requests, cpu, temperature, clock;
  ActiveMetrics m;
  const auto host = usage.nodes.find(node.id);
  for (const GpuLoad& gpu : node.gpus)
    for (const uint32_t d : gpu.devices) {
      const DeviceUsage& device = usage.devices[d];
      const HourlySeries* activity = device.utilization();
      if (activity == nullptr) continue;
      utilization.add(activity, *activity);
      sm.add(device.find(Metric::kSmActive), *activity);
      occupancy.add(device.find(Metric::kSmOccupancy), *activity);
      tensor.add(device.find(Metric::kTensorActive), *activity);
      bandwidth.add(device.find(Metric::kMemoryBandwidth), *activity);
      pcie.add(device.find(Metric::kPcieRx), *activity);
      requests.add(device.find(Metric::kRequestRate), *activity);
      temperature.add_level(device.find(Metric::kTemperature), *activity);
      if (const HourlySeries* clocks = device.find(Metric::kSmClock)) {
        clock.add_level(clocks, *activity);
        m.sm_clock_max_mhz = std::max<double>(m.sm_clock_max_mhz.value_or(0), clocks->max);
      }
      m.utilization_max_pct = std::max(m.utilization_max_pct.value_or(0), activity->max);
      if (host != usage.nodes.end())
        if (const auto it = host->second.find(Metric::kHostCpu); it != host->second.end()) cpu.add_level(&it->second, *activity);
    }
  m.utilization_pct = utilization.get();
  m.sm_active_pct = sm.get();
  m.sm_occupancy_pct = occupancy.get();
  m.tensor_pct = tensor.get();
  m.bandwidth_pct = bandwidth.get();
  m.request_rate = requests.get();
  m.host_cpu_pct = cpu.get();
  m.temperature_c = temperature.get();
  m.sm_clock_mhz = clock.get();
  if (const auto bytes = pcie.get()) m.pcie_gb_s = *bytes / 1e9;
  if (node.memory_p95 && node.memory_total && node.memory_total->count() > 0)
    m.memory_pct = 100.0 * static_cast<double>(node.memory_p95->count()) / static_cast<double>(node.memory_total->count());
  return m;
}

std::vector<std::string> diagnose(const NodeFacts& node, const ActiveMetrics& metrics, const GpuFacts* gpu) {
  std::vector<std::string> out;
  if (!node.mean_pct || !metrics.utilization_pct) return out;
  const bool well_used = utilization_verdict(*node.mean_pct) == UtilizationVerdict::kWellUsed;
  if (!well_used) find_starvation(out, metrics);
  find_pcie(out, metrics, gpu);
  find_bandwidth(out, metrics);
  if (!well_used) find_small_batch(out, node, metrics);
  find_idle_tensor_cores(out, node, metrics);
  find_heat(out, metrics);
  if (well_used) return out;
  find_capped_concurrency(out, node, metrics);
  if (*metrics.utilization_pct >= kWellUsedPct)
    out.push_back(fmt::format("busy when active ({:.0f} %) and idle {:.0f} % of the time: the hours are the waste, not the code",
                              *metrics.utilization_pct, node.idle_pct.value_or(0)));
  name_missing(out, metrics);
  return out;
}

}  // namespace stint
