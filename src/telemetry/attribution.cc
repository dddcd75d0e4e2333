#include "telemetry/attribution.h"

#include <algorithm>
#include <array>

#include "model/physical_gpu.h"
#include "telemetry/attribution_claims.h"
#include "telemetry/attribution_health.h"
#include "telemetry/attribution_runs.h"
#include "telemetry/attribution_tenants.h"
#include "telemetry/hold_attribution.h"

namespace stint {
namespace {

/// More memory in use than the driver's own: somebody holds the device, also while it is idle.
constexpr double kHeldMemoryBytes = 1024.0 * 1024 * 1024;
constexpr int64_t kHourSeconds = 3600;

const HourlySeries::Hour* sampled(const HourlySeries* series, size_t hour) {
  return series != nullptr && hour < series->hours.size() && series->hours[hour].covered_s > 0 ? &series->hours[hour] : nullptr;
}

const HourlySeries* find(const std::map<Metric, HourlySeries>& metrics, Metric m) {
  const auto it = metrics.find(m);
  return it == metrics.end() || it->second.empty() ? nullptr : &it->second;
}

const HourlySeries* utilization_of(const DeviceUsage::Held& held) {
  const HourlySeries* s = find(held.metrics, Metric::kUtilization);
  if (s != nullptr && s->max > 0) return s;
  // Under MIG some exporters give 0 throughout and the engine tells the truth.
  if (const HourlySeries* engine = find(held.metrics, Metric::kEngineActive)) return engine;
  return s;
}

DeviceParts parts_of_seconds(int64_t seconds) { return kWholeDevice * std::min(seconds, kHourSeconds) / kHourSeconds; }

/// Seconds of each hour for which any of the metrics has samples.
void widen(std::vector<uint16_t>& covered, const std::map<Metric, HourlySeries>& metrics) {
  for (const auto& [metric, series] : metrics)
    for (size_t h = 0; h < std::min(covered.size(), series.hours.size()); ++h)
      covered[h] = std::max(covered[h], series.hours[h].covered_s);
}

std::vector<uint16_t> coverage(const DeviceUsage& usage, size_t hours) {
  std::vector<uint16_t> covered(hours);
  widen(covered, usage.metrics);
  for (const auto& held : usage.holders)
    widen(covered, held.metrics);
  return covered;
}

Interval span_of(const std::vector<uint16_t>& covered, Interval period) {
  const auto some = [](uint16_t s) { return s > 0; };
  const auto first = std::find_if(covered.begin(), covered.end(), some);
  if (first == covered.end()) return {};
  const auto last = std::find_if(covered.rbegin(), covered.rend(), some).base();
  return {period.begin + kHour * (first - covered.begin()), period.begin + kHour * (last - covered.begin())};
}

Interval hull(Interval a, Interval b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

bool same_work(const Run& run, const Holder& holder) {
  if (!holder.job.empty() && (holder.job == run.holder.job || holder.job == run.id)) return true;
  return !holder.pod.empty() && holder.pod == run.holder.pod && holder.ns == run.holder.ns;
}

class Attributor {
 public:
  /// @param holds  takes what is told apart; null = nothing is.
  Attributor(const History& history, const Usage& usage, HoldTable* holds)
      : history_(history),
        usage_(usage),
        period_(whole_hours(usage.period.empty() ? history.period : usage.period)),
        tenants_(history, out_.occupancy.tenants, holds) {
    out_.occupancy.tenants.intern({});
    hours_ = static_cast<size_t>(period_.length().count_ns() / kHour.count_ns());
  }

  Attribution run() {
    if (hours_ == 0) return std::move(out_);
    read_coverage();
    list_slots();
    find_presence();
    const auto holds = place_runs(history_, slots_, period_);
    reserve_hours();
    // Hours are listed by device; slots may be in another order.
    std::vector<size_t> order(slots_.size());
    for (size_t s = 0; s < order.size(); ++s)
      order[s] = s;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(slots_[a].inferred, slots_[a].device) < std::pair(slots_[b].inferred, slots_[b].device);
    });
    for (const size_t s : order)
      attribute_slot(slots_[s], holds[s]);
    summarise();
    return std::move(out_);
  }

 private:
  static Interval whole_hours(Interval p) {
    if (p.empty()) return {};
    const Instant last = (p.end - Duration::nanoseconds(1)).hour_start();
    return {p.begin.hour_start(), last + kHour};
  }

  const DeviceUsage& usage_of(const GpuSlot& slot) const {
    static const DeviceUsage kNone;
    return slot.inferred || slot.device >= usage_.devices.size() ? kNone : usage_.devices[slot.device];
  }

  void read_coverage() {
    covered_.resize(history_.devices.size());
    for (size_t d = 0; d < covered_.size(); ++d)
      covered_[d] = d < usage_.devices.size() ? coverage(usage_.devices[d], hours_) : std::vector<uint16_t>(hours_);
  }

  /// Real devices in the order of their GPUs, then what inventory and runs speak of beyond them.
  void list_slots() {
    const auto seen_by_runs = gpus_seen_by_runs(history_);
    std::vector<std::vector<int>> indexes(history_.nodes.size());
    std::vector<bool> has_instances(history_.nodes.size());
    for (const PhysicalGpu& gpu : physical_gpus(history_.devices)) {
      for (const uint32_t d : gpu.whole)
        slots_.push_back({gpu.node, gpu.index, d, false, gpu.instances.empty()});
      for (const uint32_t d : gpu.instances)
        slots_.push_back({gpu.node, gpu.index, d, false, true});
      indexes[gpu.node.index()].push_back(gpu.index);
      if (gpu.instances.empty()) continue;
      has_instances[gpu.node.index()] = true;
      for (const uint32_t d : gpu.whole)
        instances_of_[d] = gpu.instances;
    }
    for (uint32_t n = 0; n < history_.nodes.size(); ++n) {
      // On MIG nodes runs count and name instances.
      const int64_t count = std::max(history_.nodes[n].gpu_count, has_instances[n] ? 0 : seen_by_runs[n]);
      int index = 0;
      for (auto known = static_cast<int64_t>(indexes[n].size()); known < count; ++known, ++index) {
        while (std::find(indexes[n].begin(), indexes[n].end(), index) != indexes[n].end())
          ++index;
        Device device;
        device.node = NodeId(n);
        device.index = index;
        device.model = history_.nodes[n].gpu_model;
        slots_.push_back({NodeId(n), index, static_cast<uint32_t>(out_.occupancy.inferred_devices.size()), true, true});
        out_.occupancy.inferred_devices.push_back(std::move(device));
      }
    }
    std::stable_sort(slots_.begin(), slots_.end(),
                     [](const GpuSlot& a, const GpuSlot& b) { return std::pair(a.node, a.index) < std::pair(b.node, b.index); });
  }

  /// A node is there when its inventory says so; without dates, from the first to the last sign of it; without
  /// signs, all the time. Absences are taken off later, hour by hour.
  void find_presence() {
    std::vector<Interval> evidence(history_.nodes.size());
    for (size_t d = 0; d < covered_.size(); ++d) {
      Interval& e = evidence[history_.devices[d].node.index()];
      e = hull(e, span_of(covered_[d], period_));
    }
    for (size_t n = 0; n < evidence.size(); ++n) {
      const Node& node = history_.nodes[n];
      if (node.present_from || node.present_until)
        evidence[n] = {node.present_from.value_or(period_.begin), node.present_until.value_or(period_.end)};
    }
    for (const Run& run : history_.runs)
      extend_presence(run, evidence);
    for (Interval& e : evidence)
      presence_.push_back(e.empty() && e.begin == e.end ? period_ : intersect(e, period_));
  }

  void extend_presence(const Run& run, std::vector<Interval>& evidence) const {
    if (!run.started) return;
    const Interval when = intersect({*run.started, run.ended.value_or(period_.end)}, period_);
    if (when.empty()) return;
    for (const RunAllocation& allocation : run.allocations) {
      const auto it = std::lower_bound(history_.nodes.begin(), history_.nodes.end(), allocation.node,
                                       [](const Node& node, const std::string& name) { return node.name < name; });
      if (it == history_.nodes.end() || it->name != allocation.node) continue;
      if (it->present_from || it->present_until) continue;
      Interval& e = evidence[static_cast<size_t>(it - history_.nodes.begin())];
      e = hull(e, when);
    }
  }

  /// An instance exists from its first to its last sample; the card as a whole in the hours without instances.
  Interval presence_of(const GpuSlot& slot) const {
    const Interval node = presence_[slot.node.index()];
    if (slot.inferred || !history_.devices[slot.device].mig) return node;
    const Interval own = span_of(covered_[slot.device], period_);
    return own.empty() ? node : intersect(own, node);
  }

  /// A month of a thousand GPUs is most of what there is in memory: without growing, half of it is never touched.
  void reserve_hours() {
    const auto inferred = static_cast<size_t>(std::ranges::count_if(slots_, &GpuSlot::inferred));
    out_.occupancy.hours.reserve((slots_.size() - inferred) * hours_);
    out_.occupancy.inferred_hours.reserve(inferred * hours_);
  }

  /// A hold and whose it is, asked in the first hour that counts.
  struct NamedHold {
    RunHold hold;
    std::optional<TenantResolver::Who> who;
  };

  void attribute_slot(const GpuSlot& slot, const std::vector<RunHold>& holds) {
    const Interval present = presence_of(slot);
    if (present.empty()) return;
    std::vector<bool> cut(hours_);
    if (const auto it = instances_of_.find(slot.device); !slot.inferred && it != instances_of_.end())
      for (const uint32_t d : it->second) {
        const Interval own = presence_of({slot.node, slot.index, d, false, true});
        for (size_t h = 0; h < hours_; ++h)
          cut[h] = cut[h] || !intersect(own, hour(h)).empty();
      }
    HealthTracker health(usage_of(slot));
    std::vector<NamedHold> current;
    size_t next = 0;
    for (size_t h = 0; h < hours_; ++h) {
      const Interval when = intersect(hour(h), present);
      for (; next < holds.size() && holds[next].when.begin < hour(h).end; ++next)
        current.push_back({holds[next], std::nullopt});
      std::erase_if(current, [&](const NamedHold& named) { return named.hold.when.end <= hour(h).begin; });
      if (when.empty() || cut[h]) continue;
      const Duration there = when.length() - absent_within(history_.nodes[slot.node.index()], when);
      if (there > Duration()) attribute_hour(slot, h, parts_in_hour(kWholeDevice, there), current, health);
    }
  }

  Interval hour(size_t h) const {
    const Instant begin = period_.begin + kHour * static_cast<int64_t>(h);
    return {begin, begin + kHour};
  }

  void attribute_hour(const GpuSlot& slot, size_t h, DeviceParts present, std::vector<NamedHold>& runs, HealthTracker& health) {
    const DeviceUsage& usage = usage_of(slot);
    const auto* device = sampled(usage.utilization(), h);
    const DeviceParts covered = slot.inferred ? 0 : std::min(present, parts_of_seconds(covered_[slot.device][h]));
    const DeviceParts device_active =
        device == nullptr ? 0 : parts_of_seconds(device->covered_s) / 1000 * (1000 - device->idle_permille);

    std::vector<Claim>& claims = claims_;
    claims.clear();
    add_claims_of_runs(slot, h, runs, usage, device, claims);
    share_out(claims, present);
    DeviceParts held = sum_held(claims);
    if (!usage.holders.empty()) {
      std::vector<Claim> holders = claims_of_holders(slot, h, runs, usage, device);
      share_out(holders, present - held);
      claims.insert(claims.end(), holders.begin(), holders.end());
      held = sum_held(claims);
    }

    DeviceHour out;
    out.device = DeviceId(slot.device);
    out.hour_index = period_.begin.hour_index() + static_cast<int64_t>(h);
    out.present = present;
    const DeviceParts rest = present - held;
    // Time without samples is taken to be time somebody held, as far as there is any.
    const DeviceParts known = std::min(rest, std::max<DeviceParts>(0, covered - held));
    DeviceParts unexplained = device_active;
    for (const Claim& c : claims)
      unexplained -= std::min(unexplained, c.active());
    if (health.unhealthy(h, device_active > 0)) {
      out.unhealthy = rest;
    } else if (tenants_.is_owned(slot.node)) {
      const auto [tenant, kind] = tenants_.of_node(slot.node);
      claim_rest({tenant, kind}, known, std::min(known, unexplained), device != nullptr, claims);
      claims.push_back({tenant, kind, rest - known, false, 0, 0});
    } else {
      out.missing = rest - known;
      const DeviceParts busy = std::min(known, unexplained);
      const auto* memory = sampled(usage.find(Metric::kMemoryUsed), h);
      const DeviceParts taken = memory != nullptr && memory->max >= kHeldMemoryBytes ? known : busy;
      claim_rest(tenants_.of_node(slot.node), taken, busy, device != nullptr, claims);
    }
    append(slot, out, claims);
  }

  /// A claim on what the others left, of which `busy` was active.
  static void claim_rest(TenantResolver::Who who, DeviceParts held, DeviceParts busy, bool known, std::vector<Claim>& claims) {
    claims.push_back({who.tenant, who.kind, busy, known, 0, 0});
    claims.push_back({who.tenant, who.kind, held - busy, known, 1000, 0});
  }

  void add_claims_of_runs(const GpuSlot& slot, size_t h, std::vector<NamedHold>& runs, const DeviceUsage& usage,
                          const HourlySeries::Hour* device, std::vector<Claim>& claims) {
    for (auto& [hold, who] : runs) {
      if (!who) who = tenants_.of_run(hold.run, slot.node);
      const HourlySeries::Hour* own = device;
      for (const auto& held : usage.holders)
        if (same_work(history_.runs[hold.run], history_.holders[held.holder.index()]))
          if (const auto* hour_of = sampled(utilization_of(held), h)) own = hour_of;
      claims.push_back(claim(*who, parts_in_hour(hold.share, intersect(hold.when, hour(h)).length()), own));
    }
  }

  /// Holders that telemetry names, but for those that are the telemetry of a run counted already.
  std::vector<Claim> claims_of_holders(const GpuSlot& slot, size_t h, const std::vector<NamedHold>& runs,
                                       const DeviceUsage& usage, const HourlySeries::Hour* device) {
    std::vector<Claim> claims;
    for (const auto& held : usage.holders) {
      const Holder& holder = history_.holders[held.holder.index()];
      if (std::any_of(runs.begin(), runs.end(), [&](const NamedHold& r) { return same_work(history_.runs[r.hold.run], holder); }))
        continue;
      uint16_t covered = 0;
      for (const auto& [metric, series] : held.metrics)
        if (const auto* hour_of = sampled(&series, h)) covered = std::max(covered, hour_of->covered_s);
      if (covered == 0) continue;
      const auto* own = sampled(utilization_of(held), h);
      claims.push_back(
          claim(tenants_.of_holder(held.holder, slot.node), parts_of_seconds(covered), own != nullptr ? own : device));
    }
    return claims;
  }

  static Claim claim(TenantResolver::Who who, DeviceParts held, const HourlySeries::Hour* utilization) {
    Claim c{who.tenant, who.kind, held, utilization != nullptr, 0, 0};
    if (utilization != nullptr) {
      c.idle_permille = std::min<int>(utilization->idle_permille, 1000);
      c.mean_pct = double{utilization->mean};
    }
    return c;
  }

  static DeviceParts sum_held(const std::vector<Claim>& claims) {
    DeviceParts sum = 0;
    for (const Claim& c : claims)
      sum += c.held;
    return sum;
  }

  void append(const GpuSlot& slot, DeviceHour out, const std::vector<Claim>& claims) {
    std::vector<Tenure>& tenures = out_.occupancy.tenures;
    out.first_tenure = static_cast<uint32_t>(tenures.size());
    append_tenures(claims, tenures);
    out.tenure_count = static_cast<uint32_t>(tenures.size()) - out.first_tenure;
    (slot.inferred ? out_.occupancy.inferred_hours : out_.occupancy.hours).push_back(out);
  }

  void summarise() {
    double active = 0, named = 0, present = 0, missing = 0;
    for (const auto* hours : {&out_.occupancy.hours, &out_.occupancy.inferred_hours})
      for (const DeviceHour& h : *hours) {
        present += static_cast<double>(h.present);
        missing += static_cast<double>(h.missing);
        for (const Tenure& t : out_.occupancy.of(h)) {
          active += static_cast<double>(t.active);
          if (!out_.occupancy.tenants[t.tenant].empty()) named += static_cast<double>(t.active);
        }
      }
    if (active > 0) {
      out_.summary.attributed_pct = 100 * named / active;
      out_.summary.unattributed_pct = 100 - out_.summary.attributed_pct;
    }
    if (present > 0) out_.summary.missing_pct = 100 * missing / present;
  }

  const History& history_;
  const Usage& usage_;
  Attribution out_;
  Interval period_;
  TenantResolver tenants_;
  size_t hours_ = 0;
  std::vector<std::vector<uint16_t>> covered_;  // seconds, by device and hour
  std::vector<GpuSlot> slots_;
  std::vector<Claim> claims_;                               // of the hour
  std::map<uint32_t, std::vector<uint32_t>> instances_of_;  // whole device → its MIG instances
  std::vector<Interval> presence_;                          // by node
};

}  // namespace

Attribution attribute(const History& history, const Usage& usage) { return Attributor(history, usage, nullptr).run(); }

HoldAttribution attribute_holds(const History& history, const Usage& usage) {
  HoldAttribution out;
  out.attribution = Attributor(history, usage, &out.holds).run();
  return out;
}

}  // namespace stint
