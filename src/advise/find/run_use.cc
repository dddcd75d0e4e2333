#include "advise/find/run_use.h"

#include <algorithm>

#include "model/physical_gpu.h"
#include "telemetry/attribution_runs.h"

namespace stint {
namespace {

/// Less than 1 % of the samples active is none.
constexpr int kIdlePermille = 990;

/// The GPUs of telemetry. Others were not watched.
std::vector<GpuSlot> slots_of(const History& history) {
  std::vector<GpuSlot> slots;
  for (const PhysicalGpu& gpu : physical_gpus(history.devices)) {
    for (const uint32_t d : gpu.whole)
      slots.push_back({gpu.node, gpu.index, d, false, gpu.instances.empty()});
    for (const uint32_t d : gpu.instances)
      slots.push_back({gpu.node, gpu.index, d, false, true});
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const GpuSlot& a, const GpuSlot& b) { return std::pair(a.node, a.index) < std::pair(b.node, b.index); });
  return slots;
}

struct Seen {
  const HourlySeries* utilization = nullptr;
  const HourlySeries* memory = nullptr;
  bool of_job = false;  ///< nothing of others is in it
};

const HourlySeries* find(const std::map<Metric, HourlySeries>& metrics, Metric m) {
  const auto it = metrics.find(m);
  return it == metrics.end() || it->second.empty() ? nullptr : &it->second;
}

Seen seen_of(const Run& run, const DeviceUsage& device, const std::vector<Holder>& holders) {
  for (const DeviceUsage::Held& held : device.holders) {
    const std::string& job = holders[held.holder.index()].job;
    if (job.empty() || (job != run.id && job != run.holder.job)) continue;
    const HourlySeries* utilization = find(held.metrics, Metric::kUtilization);
    if (utilization == nullptr || utilization->max <= 0)
      if (const HourlySeries* engine = find(held.metrics, Metric::kEngineActive)) utilization = engine;
    if (utilization != nullptr) return {utilization, find(held.metrics, Metric::kMemoryUsed), true};
  }
  return {device.utilization(), device.find(Metric::kMemoryUsed), false};
}

void add_hold(const RunHold& hold, const Seen& seen, Interval period, RunUse& use) {
  if (seen.utilization == nullptr) return;
  const double share = static_cast<double>(hold.share) / static_cast<double>(kWholeDevice);
  bool watched = false;
  bool active = false;
  for (int64_t h = hold.when.begin.hour_index(); Instant::from_hour_index(h) < hold.when.end; ++h) {
    const auto at = static_cast<size_t>(h - period.begin.hour_index());
    if (at >= seen.utilization->hours.size()) break;
    const HourlySeries::Hour& hour = seen.utilization->hours[at];
    if (hour.covered_s == 0) continue;
    const Instant start = Instant::from_hour_index(h);
    const double part = intersect(hold.when, {start, start + kHour}).length().to_hours();
    const double covered = hour.covered_s / 3600.0;
    const double hours = (seen.of_job ? std::min(covered, part) : part * std::min(covered, 1.0)) * share;
    watched = true;
    active |= hour.idle_permille < kIdlePermille;
    use.watched_hours += hours;
    use.used_hours += hours * static_cast<double>(hour.mean) / 100;
    use.idle_hours += hours * hour.idle_permille / 1000.0;
    use.busiest_pct = std::max(use.busiest_pct, static_cast<double>(hour.mean));
    if (seen.memory == nullptr || at >= seen.memory->hours.size() || seen.memory->hours[at].covered_s == 0) continue;
    const Bytes peak = Bytes::of(static_cast<int64_t>(seen.memory->hours[at].max));
    use.memory_peak = std::max(use.memory_peak.value_or(peak), peak);
  }
  use.gpus_watched += watched ? 1 : 0;
  use.gpus_idle += watched && !active ? 1 : 0;
}

/// GPU-hours held by what the run itself says: GPUs without telemetry count, too.
double held_hours(const Run& run, Interval period) {
  if (!run.started) return 0;
  const Interval when = intersect({*run.started, run.ended.value_or(period.end)}, period);
  if (when.empty()) return 0;
  double gpus = 0;
  for (const RunAllocation& allocation : run.allocations)
    gpus += static_cast<double>(std::max(allocation.gpu_count, static_cast<int64_t>(allocation.gpu_indexes.size())));
  if (gpus <= 0) gpus = static_cast<double>(run.gpus_requested);
  if (run.share) gpus *= static_cast<double>(run.share->parts()) / static_cast<double>(run.share->total());
  return gpus * when.length().to_hours();
}

}  // namespace

std::vector<RunUse> use_of_runs(const History& history, const Usage& usage) {
  std::vector<RunUse> uses(history.runs.size());
  for (size_t r = 0; r < uses.size(); ++r)
    uses[r].held_hours = held_hours(history.runs[r], history.period);
  const std::vector<GpuSlot> slots = slots_of(history);
  const auto holds = place_runs(history, slots, history.period);
  for (size_t s = 0; s < slots.size(); ++s)
    for (const RunHold& hold : holds[s]) {
      const uint32_t d = slots[s].device;
      RunUse& use = uses[hold.run];
      use.gpu_model = history.devices[d].model;
      if (d < usage.devices.size())
        add_hold(hold, seen_of(history.runs[hold.run], usage.devices[d], history.holders), usage.period, use);
    }
  return uses;
}

}  // namespace stint
