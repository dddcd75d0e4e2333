#include "telemetry/gpu_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace stint {
namespace {

size_t covered_hours(const HourlySeries& series) {
  return static_cast<size_t>(std::ranges::count_if(series.hours, [](const HourlySeries::Hour& h) { return h.covered_s > 0; }));
}

bool seen_in(const DeviceUsage& usage, size_t hour) {
  return std::ranges::any_of(usage.metrics, [&](const auto& entry) {
    return hour < entry.second.hours.size() && entry.second.hours[hour].covered_s > 0;
  });
}

bool seen_together(const DeviceUsage& a, const DeviceUsage& b, size_t hours) {
  for (size_t h = 0; h < hours; ++h)
    if (seen_in(a, h) && seen_in(b, h)) return true;
  return false;
}

void keep_what_covers_more(std::map<Metric, HourlySeries>& to, std::map<Metric, HourlySeries>& from) {
  for (auto& [metric, series] : from) {
    const auto [at, is_new] = to.try_emplace(metric);
    if (is_new || covered_hours(series) > covered_hours(at->second)) at->second = std::move(series);
  }
}

void take_over(DeviceUsage& to, DeviceUsage& from) {
  keep_what_covers_more(to.metrics, from.metrics);
  for (DeviceUsage::Held& held : from.holders) {
    const auto own = std::ranges::find(to.holders, held.holder, &DeviceUsage::Held::holder);
    if (own == to.holders.end())
      to.holders.push_back(std::move(held));
    else
      keep_what_covers_more(own->metrics, held.metrics);
  }
  std::ranges::sort(to.holders, {}, &DeviceUsage::Held::holder);
}

/// What inventory, bill and jobs know of it, most telling first.
auto known_of(const Node& node) {
  return std::tuple(!node.resource_id.empty(), !node.instance_type.empty(), !node.provider.empty(),
                    node.market != Market::kUnknown, node.gpu_count > 0, node.rate.has_value());
}

void complete_node(Node& kept, const Node& other) {
  const auto fill = [](auto& to, const auto& from, bool is_unknown) {
    if (is_unknown) to = from;
  };
  fill(kept.resource_id, other.resource_id.empty() ? other.name : other.resource_id, kept.resource_id.empty());
  fill(kept.provider, other.provider, kept.provider.empty());
  fill(kept.region, other.region, kept.region.empty());
  fill(kept.zone, other.zone, kept.zone.empty());
  fill(kept.instance_type, other.instance_type, kept.instance_type.empty());
  fill(kept.gpu_model, other.gpu_model, kept.gpu_model.empty());
  fill(kept.market, other.market, kept.market == Market::kUnknown);
  fill(kept.kind, other.kind, kept.kind == WorkloadKind::kUnknown);
  fill(kept.gpu_count, other.gpu_count, kept.gpu_count == 0);
}

class MachineJoiner {
 public:
  MachineJoiner(History& history, Usage& usage) : history_(history), usage_(usage), kept_as_(history.nodes.size()) {
    std::iota(kept_as_.begin(), kept_as_.end(), uint32_t{0});
  }

  std::vector<std::string> run() {
    find_aliases();
    std::vector<std::string> notes;
    for (uint32_t n = 0; n < kept_as_.size(); ++n) {
      const uint32_t kept = root(n);
      if (kept == n) continue;
      notes.push_back(
          fmt::format("{} and {} are one machine: the same GPU UUIDs were seen under both names in the same hours; it is {}",
                      history_.nodes[n].name, history_.nodes[kept].name, history_.nodes[kept].name));
      complete_node(history_.nodes[kept], history_.nodes[n]);
      for (stint::Run& run : history_.runs)
        for (RunAllocation& allocation : run.allocations)
          if (allocation.node == history_.nodes[n].name) allocation.node = history_.nodes[kept].name;
      for (BillLine& line : history_.bill)
        for (std::string* id : {&line.resource_id, &line.resource_name})
          if (*id == history_.nodes[n].name) *id = history_.nodes[kept].name;
    }
    if (!notes.empty()) rebuild();
    return notes;
  }

 private:
  uint32_t root(uint32_t node) const {
    while (kept_as_[node] != node)
      node = kept_as_[node];
    return node;
  }

  void join(uint32_t a, uint32_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    // Of names of which as much is known, the first one stays.
    if (known_of(history_.nodes[b]) > known_of(history_.nodes[a]) ||
        (known_of(history_.nodes[b]) == known_of(history_.nodes[a]) && b < a))
      std::swap(a, b);
    kept_as_[b] = a;
  }

  void find_aliases() {
    std::map<std::pair<std::string, std::optional<MigInstance>>, std::vector<uint32_t>> by_uuid;
    for (uint32_t d = 0; d < history_.devices.size(); ++d)
      if (const Device& device = history_.devices[d]; !device.uuid.empty()) by_uuid[{device.uuid, device.mig}].push_back(d);
    for (const auto& [uuid, devices] : by_uuid)
      for (size_t i = 0; i < devices.size(); ++i)
        for (size_t j = i + 1; j < devices.size(); ++j) {
          const Device& a = history_.devices[devices[i]];
          const Device& b = history_.devices[devices[j]];
          if (a.node != b.node && seen_together(usage_.devices[devices[i]], usage_.devices[devices[j]], usage_.hour_count()))
            join(static_cast<uint32_t>(a.node.index()), static_cast<uint32_t>(b.node.index()));
        }
  }

  /// Nodes and devices without those that have gone into others, in their order.
  void rebuild() {
    std::vector<Node> nodes;
    std::vector<NodeId> now(history_.nodes.size());
    for (uint32_t n = 0; n < history_.nodes.size(); ++n) {
      if (root(n) != n) continue;
      now[n] = NodeId(static_cast<uint32_t>(nodes.size()));
      nodes.push_back(std::move(history_.nodes[n]));
    }
    for (uint32_t n = 0; n < now.size(); ++n)
      if (!now[n].valid()) now[n] = now[root(n)];
    using Seen = std::pair<Device, DeviceUsage>;
    std::vector<Seen> seen;
    for (size_t d = 0; d < history_.devices.size(); ++d) {
      Device& device = history_.devices[d];
      device.node = now[device.node.index()];
      const auto same = device.uuid.empty() ? seen.end() : std::ranges::find_if(seen, [&](const Seen& s) {
        return s.first.node == device.node && s.first.uuid == device.uuid && s.first.mig == device.mig;
      });
      if (same == seen.end())
        seen.emplace_back(std::move(device), std::move(usage_.devices[d]));
      else
        take_over(same->second, usage_.devices[d]);
    }
    std::ranges::stable_sort(seen, [](const Seen& a, const Seen& b) {
      return std::tie(a.first.node, a.first.index, a.first.uuid, a.first.mig) <
             std::tie(b.first.node, b.first.index, b.first.uuid, b.first.mig);
    });
    history_.devices.clear();
    usage_.devices.clear();
    for (Seen& s : seen) {
      history_.devices.push_back(std::move(s.first));
      usage_.devices.push_back(std::move(s.second));
    }
    std::map<NodeId, std::map<Metric, HourlySeries>> of_nodes;
    for (auto& [node, metrics] : usage_.nodes)
      keep_what_covers_more(of_nodes[now[node.index()]], metrics);
    usage_.nodes = std::move(of_nodes);
    history_.nodes = std::move(nodes);
  }

  History& history_;
  Usage& usage_;
  std::vector<uint32_t> kept_as_;
};

}  // namespace

std::vector<std::string> join_names_of_one_machine(History& history, Usage& usage) { return MachineJoiner(history, usage).run(); }

}  // namespace stint
