#include "telemetry/attribution_runs.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace stint {
namespace {

/// One run on one node.
struct Placement {
  uint32_t run = 0;
  const RunAllocation* where = nullptr;
  Interval when;
};

/// How many GPUs an allocation takes, also where only the run as a whole says so.
int64_t gpus_of(const Run& run, const RunAllocation& allocation) {
  if (!allocation.gpu_indexes.empty()) return static_cast<int64_t>(allocation.gpu_indexes.size());
  if (allocation.gpu_count > 0) return allocation.gpu_count;
  if (run.share) return 1;
  return run.gpus_requested / static_cast<int64_t>(run.allocations.size());
}

DeviceParts share_of(const Run& run) {
  if (!run.share || *run.share >= GpuShare::whole()) return kWholeDevice;
  return run.share->parts() * (kWholeDevice / run.share->total()) +
         run.share->parts() * (kWholeDevice % run.share->total()) / run.share->total();
}

std::map<std::string_view, NodeId> nodes_by_name(const History& history) {
  std::map<std::string_view, NodeId> out;
  for (uint32_t n = 0; n < history.nodes.size(); ++n)
    out.emplace(history.nodes[n].name, NodeId(n));
  return out;
}

/// The slots of one node and how much of each hour is taken.
class NodeLoad {
 public:
  NodeLoad(std::span<const GpuSlot> slots, Interval period, std::span<std::vector<RunHold>> holds)
      : slots_(slots),
        first_hour_(period.begin.hour_index()),
        holds_(holds),
        hours_(static_cast<size_t>((period.end - Duration::nanoseconds(1)).hour_index() - first_hour_ + 1)),
        load_(slots.size() * hours_) {}

  void place_named(const Placement& p, DeviceParts share) {
    for (const int index : p.where->gpu_indexes) {
      // A MIG GPU has several slots of one index: the run takes the least loaded instance.
      size_t best = slots_.size();
      DeviceParts least = 0;
      for (size_t s = 0; s < slots_.size(); ++s) {
        if (!slots_[s].takes_runs || slots_[s].index != index) continue;
        const DeviceParts taken = peak(s, p.when);
        if (best == slots_.size() || taken < least) best = s, least = taken;
      }
      if (best != slots_.size()) hold(best, p, share);
    }
  }

  void place_counted(const Placement& p, DeviceParts share, int64_t count) {
    std::vector<std::pair<DeviceParts, size_t>> candidates;
    for (size_t s = 0; s < slots_.size(); ++s) {
      if (!slots_[s].takes_runs) continue;
      const DeviceParts taken = peak(s, p.when);
      // All slots with room are equal, so that the lowest index wins; the others come by how full they are.
      candidates.emplace_back(fits(s, p.when, share) ? 0 : 1 + taken, s);
    }
    std::sort(candidates.begin(), candidates.end());
    const auto wanted = std::min(candidates.size(), static_cast<size_t>(std::max<int64_t>(count, 0)));
    for (size_t k = 0; k < wanted; ++k)
      hold(candidates[k].second, p, share);
  }

 private:
  template <typename Visit>
  void each_hour(size_t slot, Interval when, const Visit& visit) {
    for (int64_t h = when.begin.hour_index(); Instant::from_hour_index(h) < when.end; ++h) {
      const Instant start = Instant::from_hour_index(h);
      const Duration part = intersect(when, {start, start + kHour}).length();
      visit(load_[slot * hours_ + static_cast<size_t>(h - first_hour_)], part);
    }
  }

  DeviceParts peak(size_t slot, Interval when) {
    DeviceParts most = 0;
    each_hour(slot, when, [&](DeviceParts& load, Duration) { most = std::max(most, load); });
    return most;
  }

  bool fits(size_t slot, Interval when, DeviceParts share) {
    bool room = true;
    each_hour(slot, when, [&](DeviceParts& load, Duration part) { room &= load + parts_in_hour(share, part) <= kWholeDevice; });
    return room;
  }

  void hold(size_t slot, const Placement& p, DeviceParts share) {
    each_hour(slot, p.when, [&](DeviceParts& load, Duration part) { load += parts_in_hour(share, part); });
    holds_[slot].push_back({p.run, p.when, share});
  }

  std::span<const GpuSlot> slots_;
  int64_t first_hour_;
  std::span<std::vector<RunHold>> holds_;
  size_t hours_;
  std::vector<DeviceParts> load_;
};

std::map<NodeId, std::vector<Placement>> placements_by_node(const History& history, Interval period) {
  const auto names = nodes_by_name(history);
  std::map<NodeId, std::vector<Placement>> out;
  for (uint32_t r = 0; r < history.runs.size(); ++r) {
    const Run& run = history.runs[r];
    if (!run.started) continue;
    const Interval when = intersect({*run.started, run.ended.value_or(period.end)}, period);
    if (when.empty()) continue;
    for (const RunAllocation& allocation : run.allocations)
      if (const auto it = names.find(allocation.node); it != names.end()) out[it->second].push_back({r, &allocation, when});
  }
  return out;
}

}  // namespace

DeviceParts parts_in_hour(DeviceParts share, Duration part) {
  // 10⁹ × 3.6·10¹² ns would not fit: to the microsecond it does, and no source is finer.
  return share * (part.count_ns() / 1000) / (kHour.count_ns() / 1000);
}

std::vector<std::vector<RunHold>> place_runs(const History& history, std::span<const GpuSlot> slots, Interval period) {
  std::vector<std::vector<RunHold>> holds(slots.size());
  if (period.empty()) return holds;
  const auto by_node = placements_by_node(history, period);
  for (size_t first = 0; first < slots.size();) {
    size_t end = first;
    while (end < slots.size() && slots[end].node == slots[first].node)
      ++end;
    if (const auto it = by_node.find(slots[first].node); it != by_node.end()) {
      NodeLoad load(slots.subspan(first, end - first), period, std::span(holds).subspan(first, end - first));
      for (const Placement& p : it->second)
        if (!p.where->gpu_indexes.empty()) load.place_named(p, share_of(history.runs[p.run]));
      for (const Placement& p : it->second)
        if (p.where->gpu_indexes.empty())
          load.place_counted(p, share_of(history.runs[p.run]), gpus_of(history.runs[p.run], *p.where));
    }
    first = end;
  }
  for (auto& of_slot : holds)
    std::sort(of_slot.begin(), of_slot.end(), [](const RunHold& a, const RunHold& b) {
      return a.when.begin != b.when.begin ? a.when.begin < b.when.begin : a.run < b.run;
    });
  return holds;
}

std::vector<int64_t> gpus_seen_by_runs(const History& history) {
  const auto names = nodes_by_name(history);
  std::vector<int64_t> seen(history.nodes.size());
  for (const Run& run : history.runs)
    for (const RunAllocation& allocation : run.allocations) {
      const auto it = names.find(allocation.node);
      if (it == names.end()) continue;
      int64_t& most = seen[it->second.index()];
      most = std::max(most, gpus_of(run, allocation));
      for (const int index : allocation.gpu_indexes)
        most = std::max(most, int64_t{index} + 1);
    }
  return seen;
}

}  // namespace stint
