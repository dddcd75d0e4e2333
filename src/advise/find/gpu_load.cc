#include "advise/find/gpu_load.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/mig.h"

namespace stint {
namespace {

using Hour = HourlySeries::Hour;

/// At least this share of samples is active (utilisation ≥ kIdleBelowPercent) in an active hour.
constexpr int kIdleHourPermille = 990;

const Hour* sampled(const HourlySeries* series, size_t h) {
  return series != nullptr && h < series->hours.size() && series->hours[h].covered_s > 0 ? &series->hours[h] : nullptr;
}

/// Running mean weighted by time.
struct WeightedMean {
  double sum = 0;
  double weight = 0;
  void add(double value, double w) {
    sum += value * w;
    weight += w;
  }
  void merge(const WeightedMean& other) {
    sum += other.sum;
    weight += other.weight;
  }
  [[nodiscard]] std::optional<double> get() const { return weight > 0 ? std::optional(sum / weight) : std::nullopt; }
};

/// Share of the GPU each of its devices is: 1 for a whole GPU, compute slices for MIG instances.
std::vector<double> weights_of(const GpuLoad& gpu, const History& history) {
  std::vector<double> weights;
  for (const uint32_t d : gpu.devices) {
    const Device& device = history.devices[d];
    if (!device.mig) {
      weights.push_back(1.0 / static_cast<double>(gpu.devices.size()));
      continue;
    }
    const MigGeometry* geometry = find_mig_geometry(device.model);
    const MigProfile* profile = geometry == nullptr ? nullptr : geometry->find_profile(device.mig->profile);
    weights.push_back(profile == nullptr ? 1.0 / static_cast<double>(gpu.devices.size())
                                         : static_cast<double>(profile->compute_slices) / geometry->compute_slices);
  }
  return weights;
}

std::optional<Bytes> bytes_of(double value) { return value > 0 ? std::optional(Bytes::of(std::llround(value))) : std::nullopt; }

/// Adds b to a where both or either is known.
void accumulate(std::optional<Bytes>& a, std::optional<Bytes> b) {
  if (b) a = a ? *a + *b : *b;
}
void keep_larger(std::optional<Bytes>& a, std::optional<Bytes> b) {
  if (b && (!a || *b > *a)) a = b;
}

void add_memory(GpuLoad& gpu, const DeviceUsage& usage, const Device& device) {
  if (const HourlySeries* used = usage.find(Metric::kMemoryUsed)) {
    accumulate(gpu.memory_peak, bytes_of(used->max));
    if (const auto p95 = used->sketch.quantile(Metric::kMemoryUsed, 0.95)) accumulate(gpu.memory_p95, bytes_of(*p95));
  }
  const HourlySeries* total = usage.find(Metric::kMemoryTotal);
  if (device.memory.count() > 0)
    accumulate(gpu.memory_total, device.memory);
  else if (total != nullptr)
    accumulate(gpu.memory_total, bytes_of(total->max));
}

/// What one hour of a GPU adds to the node's.
struct GpuHour {
  double mean = 0;
  double peak = 0;  ///< no less than at any instant: the busiest samples of its instances
  double idle_permille = 0;
  double covered_s = 0;
  bool active = false;
  bool held = false;
};

GpuHour hour_of(const GpuLoad& gpu, const std::vector<double>& weights, const std::vector<const HourlySeries*>& utilization,
                const std::vector<const HourlySeries*>& memory, size_t h) {
  GpuHour out;
  double weight = 0;
  for (size_t i = 0; i < gpu.devices.size(); ++i) {
    if (const Hour* u = sampled(utilization[i], h)) {
      out.mean += u->mean * weights[i];
      out.peak += u->max * weights[i];
      out.idle_permille += u->idle_permille * weights[i];
      out.covered_s = std::max<double>(out.covered_s, u->covered_s);
      out.active |= u->idle_permille < kIdleHourPermille;
      weight += weights[i];
    }
    if (const Hour* m = sampled(memory[i], h)) out.held |= m->max > static_cast<float>(kHeldMemoryBytes);
  }
  // An instance without samples says nothing: idleness is of those that have some.
  if (weight > 0) out.idle_permille /= weight;
  return out;
}

struct NodeMeans {
  WeightedMean utilization, idle;
  Sketch sketch;
  std::optional<Metric> source;
};

/// How wide the work is while it runs: what is in use of `part`, by the time in which anything ran.
std::optional<double> width_of(const HourlySeries* part, const HourlySeries* busy) {
  double used = 0;
  double ran = 0;
  for (size_t h = 0; busy != nullptr && h < busy->hours.size(); ++h) {
    const Hour* p = sampled(part, h);
    const Hour* b = sampled(busy, h);
    if (p == nullptr || b == nullptr) continue;
    used += static_cast<double>(p->mean) * b->covered_s;
    ran += static_cast<double>(b->mean) * b->covered_s;
  }
  return ran > 0 ? std::optional(std::min(used / ran, 1.0)) : std::nullopt;
}

void add_instance(GpuLoad& gpu, const DeviceUsage& usage, double busy_p95) {
  const HourlySeries* used = usage.find(Metric::kMemoryUsed);
  const bool held = used != nullptr && used->max > static_cast<double>(kHeldMemoryBytes);
  if (!held && busy_p95 <= 0) return;
  gpu.instances.push_back({used == nullptr ? std::nullopt : bytes_of(used->max), busy_p95});
}

void add_gpu(NodeFacts& node, GpuLoad& gpu, const History& history, const Usage& usage, std::vector<WeightedMean>& hourly,
             NodeMeans& all) {
  const std::vector<double> weights = weights_of(gpu, history);
  std::vector<const HourlySeries*> utilization, memory;
  for (const uint32_t d : gpu.devices) {
    const DeviceUsage& device = usage.devices[d];
    utilization.push_back(device.utilization());
    memory.push_back(device.find(Metric::kMemoryUsed));
    add_memory(gpu, device, history.devices[d]);
    if (utilization.back() == nullptr) continue;
    all.source = device.utilization_source();
    all.sketch.merge(utilization.back()->sketch);
    // Instances together are at most as busy as their shares allow at the quantile of each.
    const double scale = gpu.cut_by_mig ? weights[utilization.size() - 1] : 1.0;
    const Sketch& sketch = utilization.back()->sketch;
    // Of the time in which it works: a notebook that sleeps all night needs as much GPU by day as one that does not.
    const double idle_share = sketch.fraction_at_most(*all.source, kIdleBelowPercent / 2);
    const double p95 = sketch.quantile(*all.source, idle_share + 0.95 * (1 - idle_share)).value_or(0) * scale;
    if (gpu.cut_by_mig) add_instance(gpu, device, p95 / 100);
    gpu.busy_p95_pct = gpu.cut_by_mig ? gpu.busy_p95_pct.value_or(0) + p95 : std::max(gpu.busy_p95_pct.value_or(0), p95);
  }
  if (!gpu.cut_by_mig && gpu.devices.size() == 1) {
    const DeviceUsage& device = usage.devices[gpu.devices.front()];
    gpu.sm_while_busy = width_of(device.find(Metric::kSmActive), utilization.front());
    gpu.memory_while_busy = width_of(device.find(Metric::kMemoryBandwidth), utilization.front());
  }
  WeightedMean mean, idle;
  for (size_t h = 0; h < node.timeline.size(); ++h) {
    const GpuHour hour = hour_of(gpu, weights, utilization, memory, h);
    gpu.in_use |= hour.active || hour.held;
    NodeHour& at = node.timeline[h];
    at.active_gpus = static_cast<uint16_t>(at.active_gpus + (hour.active ? 1 : 0));
    at.used_gpus = static_cast<uint16_t>(at.used_gpus + (hour.active || hour.held ? 1 : 0));
    if (hour.covered_s == 0) continue;
    at.seen_s = std::max(at.seen_s, static_cast<uint16_t>(hour.covered_s));
    hourly[h].add(hour.mean, hour.covered_s);
    mean.add(hour.mean, hour.covered_s);
    idle.add(hour.idle_permille / 10, hour.covered_s);
  }
  gpu.mean_pct = mean.get();
  gpu.idle_pct = idle.get();
  gpu.covered_hours = mean.weight / 3600;
  all.utilization.merge(mean);
  all.idle.merge(idle);
}

/// GPUs of a node whose holder holds more than one of them: tensor parallel serving, distributed training.
void mark_gangs(NodeFacts& node, const Usage& usage) {
  std::map<HolderId, int> held;
  for (const GpuLoad& gpu : node.gpus)
    for (const uint32_t d : gpu.devices)
      for (const DeviceUsage::Held& h : usage.devices[d].holders)
        ++held[h.holder];
  for (GpuLoad& gpu : node.gpus)
    for (const uint32_t d : gpu.devices)
      for (const DeviceUsage::Held& h : usage.devices[d].holders)
        gpu.in_gang |= held[h.holder] > 1;
}

}  // namespace

void add_gpu_loads(NodeFacts& node, std::span<const PhysicalGpu> physical, const History& history, const Usage& usage) {
  std::vector<WeightedMean> hourly(node.timeline.size());
  NodeMeans all;
  for (const PhysicalGpu& card : physical) {
    GpuLoad gpu;
    gpu.index = card.index >= 0 ? card.index : static_cast<int>(node.gpus.size());
    gpu.cut_by_mig = !card.instances.empty();
    gpu.devices = gpu.cut_by_mig ? card.instances : card.whole;
    add_gpu(node, gpu, history, usage, hourly, all);
    keep_larger(node.memory_p95, gpu.memory_p95);
    keep_larger(node.memory_peak, gpu.memory_peak);
    keep_larger(node.memory_total, gpu.memory_total);
    node.gpus.push_back(std::move(gpu));
  }
  mark_gangs(node, usage);
  for (size_t h = 0; h < hourly.size(); ++h)
    if (const auto mean = hourly[h].get()) node.timeline[h].mean_pct = static_cast<float>(*mean);
  node.mean_pct = all.utilization.get();
  node.idle_pct = all.idle.get();
  if (all.source) {
    node.utilization_source = info_of(*all.source).name;
    node.p95_pct = all.sketch.quantile(*all.source, 0.95);
  }
  if (const auto it = usage.nodes.find(node.id); it != usage.nodes.end())
    if (const auto cpu = it->second.find(Metric::kHostCpu); cpu != it->second.end() && !cpu->second.empty()) {
      WeightedMean mean;
      for (const Hour& h : cpu->second.hours)
        mean.add(h.mean, h.covered_s);
      node.host_cpu_pct = mean.get();
    }
}

std::optional<double> request_p99_ms(const GpuLoad& gpu, const Usage& usage) {
  std::optional<double> worst;
  for (const uint32_t d : gpu.devices) {
    if (d >= usage.devices.size()) continue;
    const HourlySeries* series = usage.devices[d].find(Metric::kLatencyP99);
    const auto p95 = series == nullptr ? std::nullopt : series->sketch.quantile(Metric::kLatencyP99, 0.95);
    if (p95) worst = std::max(worst.value_or(0), *p95);
  }
  return worst;
}

void add_service_hours(NodeFacts& node, const History& history, const Usage& usage) {
  for (GpuLoad& gpu : node.gpus) {
    const std::vector<double> weights = weights_of(gpu, history);
    std::vector<const HourlySeries*> utilization, memory;
    for (const uint32_t d : gpu.devices) {
      utilization.push_back(usage.devices[d].utilization());
      memory.push_back(usage.devices[d].find(Metric::kMemoryUsed));
    }
    gpu.p99_ms = request_p99_ms(gpu, usage);
    gpu.hourly_pct.assign(node.timeline.size(), -1.0F);
    gpu.hourly_peak_pct = gpu.hourly_pct;
    for (size_t h = 0; h < gpu.hourly_pct.size(); ++h) {
      const GpuHour hour = hour_of(gpu, weights, utilization, memory, h);
      if (hour.covered_s <= 0) continue;
      gpu.hourly_pct[h] = static_cast<float>(hour.mean);
      gpu.hourly_peak_pct[h] = static_cast<float>(std::max(hour.peak, hour.mean));
    }
  }
}

void judge_coverage(NodeFacts& node) {
  double watched = 0;
  for (const GpuLoad& gpu : node.gpus)
    watched += gpu.covered_hours;
  const double gpu_hours =
      node.hours * static_cast<double>(std::max<int64_t>(node.gpu_count, static_cast<int64_t>(node.gpus.size())));
  node.coverage_pct = gpu_hours > 0 ? std::min(100.0, 100 * watched / gpu_hours) : 0;
  node.quality = telemetry_quality(node.coverage_pct);
}

}  // namespace stint
