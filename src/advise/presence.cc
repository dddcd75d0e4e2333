#include "advise/presence.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"

namespace stint {
namespace {

constexpr int64_t kHourSeconds = 3600;

/// Part of a line that falls into one hour of the timeline.
struct Part {
  size_t hour = 0;
  int64_t seconds = 0;
};

std::vector<Part> parts_of(const FleetFacts& fleet, const BillLine& line) {
  std::vector<Part> parts;
  const Interval period = intersect(line.charge_period, fleet.period);
  if (period.empty()) return parts;
  for (int64_t h = period.begin.hour_index(); Instant::from_hour_index(h) < period.end; ++h) {
    const int64_t at = h - fleet.first_hour;
    if (at < 0 || at >= static_cast<int64_t>(fleet.hour_count)) continue;
    const Instant begin = Instant::from_hour_index(h);
    parts.push_back({static_cast<size_t>(at), intersect({begin, begin + kHour}, period).length().whole_seconds()});
  }
  return parts;
}

void add_seconds(NodeHour& hour, int64_t seconds) {
  hour.on_s = static_cast<uint16_t>(std::min<int64_t>(kHourSeconds, hour.on_s + seconds));
}

void add_line(NodeFacts& node, const FleetFacts& fleet, const BillLine& line) {
  const std::vector<Part> parts = parts_of(fleet, line);
  int64_t all = 0;
  int64_t seen = 0;
  for (const Part& p : parts) {
    all += p.seconds;
    if (node.timeline[p.hour].seen_s > 0) seen += p.seconds;
  }
  const double share_in_period =
      line.charge_period.empty() ? 1 : static_cast<double>(all) / line.charge_period.length().to_seconds();
  const auto quantity = charged_hours(line);
  const int64_t charged = quantity ? std::min(all, static_cast<int64_t>(*quantity * kHourSeconds * share_in_period + 0.5)) : all;
  const auto spread = [&](bool want_seen, int64_t seconds, int64_t over) {
    for (const Part& p : parts)
      if ((node.timeline[p.hour].seen_s > 0) == want_seen && over > 0)
        add_seconds(node.timeline[p.hour], p.seconds * seconds / over);
  };
  spread(true, std::min(charged, seen), seen);
  spread(false, std::max<int64_t>(0, charged - seen), all - seen);
}

}  // namespace

std::optional<double> charged_hours(const BillLine& line) {
  if (!contains_ignoring_case(line.pricing_unit, "hour") && !contains_ignoring_case(line.pricing_unit, "hrs"))
    return std::nullopt;
  return parse_number(line.quantity);
}

void add_presence(FleetFacts& fleet, const NodeHours& hours, const Ledger& ledger) {
  std::vector<bool> billed(fleet.nodes.size());
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    const BillLine& line = ledger.lines[i];
    const NodeId id = ledger.line_nodes[i];
    const bool usage = line.spend == SpendKind::kCompute && line.category == ChargeCategory::kUsage && !line.commitment_unused;
    if (!id.valid() || ledger.synthesised[i] || !usage) continue;
    billed[id.index()] = true;
    add_line(fleet.nodes[id.index()], fleet, line);
  }
  for (NodeFacts& node : fleet.nodes) {
    if (!billed[node.id.index()])
      for (const NodeHours::Hour& hour : hours.of(node.id)) {
        const int64_t at = hour.hour_index - fleet.first_hour;
        if (at >= 0 && at < static_cast<int64_t>(fleet.hour_count))
          node.timeline[static_cast<size_t>(at)].on_s = static_cast<uint16_t>(hour.present * kHourSeconds / kWholeDevice);
      }
    int64_t seconds = 0;
    for (const NodeHour& h : node.timeline)
      seconds += h.on_s;
    node.hours = static_cast<double>(seconds) / static_cast<double>(kHourSeconds);
  }
}

namespace {

std::string last_part_of_resource(const std::string& resource_id) {
  const size_t slash = resource_id.rfind('/');
  return slash == std::string::npos || slash + 1 == resource_id.size() ? resource_id : resource_id.substr(slash + 1);
}

}  // namespace

std::optional<History> with_machines_of_bill(const History& history, const Catalog& catalog) {
  if (!history.nodes.empty()) return std::nullopt;
  std::map<std::string, const BillLine*> machines;  // by resource id; the first line that names its type
  for (const BillLine& line : history.bill) {
    if (line.spend != SpendKind::kCompute || line.category != ChargeCategory::kUsage || line.commitment_unused) continue;
    if (line.resource_id.empty() || line.instance_type.empty()) continue;
    const InstanceType* type = catalog.find_instance(line.provider, line.instance_type);
    if (type != nullptr && type->gpu_milli > 0) machines.try_emplace(line.resource_id, &line);
  }
  if (machines.empty()) return std::nullopt;
  std::map<std::string, int> shorter;
  for (const auto& [id, line] : machines)
    ++shorter[last_part_of_resource(id)];
  std::map<std::string, Node> by_name;
  for (const auto& [id, line] : machines) {
    Node node;
    node.name = shorter[last_part_of_resource(id)] == 1 ? last_part_of_resource(id) : id;
    node.resource_id = id;
    node.provider = line->provider;
    node.region = line->region;
    node.instance_type = line->instance_type;
    node.market = line->market;
    by_name.emplace(node.name, std::move(node));
  }
  History completed = history;
  for (auto& [name, node] : by_name)
    completed.nodes.push_back(std::move(node));
  return completed;
}

}  // namespace stint
