#include "advise/promises.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kPromiseKey = "p99";
constexpr double kLongestMs = 1e9;

bool is_promise_key(std::string_view key) {
  const size_t prefix = key.find_last_of(":/");
  return to_lower(prefix == std::string_view::npos ? key : key.substr(prefix + 1)) == kPromiseKey;
}

void note_promise(FleetFacts& fleet, const std::string& service, double ms) {
  const auto [it, first] = fleet.promises_ms.try_emplace(service, ms);
  if (!first) it->second = std::min(it->second, ms);
}

/// What its owner's tags say of each of these services. @param of  whose tags they are, for messages.
void promise_by_tags(FleetFacts& fleet, std::span<const Tag> tags, const std::set<std::string>& services, const std::string& of) {
  for (const auto& [key, value] : tags) {
    if (!is_promise_key(key)) continue;
    const auto ms = parse_promise(value);
    for (const std::string& service : services)
      if (ms) note_promise(fleet, service, *ms);
    if (ms) continue;
    std::string note =
        fmt::format("{}: {}={} is no time such as 80ms or 0.2s, so it promises nothing", of, excerpt(key), excerpt(value));
    if (std::ranges::find(fleet.promise_notes, note) == fleet.promise_notes.end()) fleet.promise_notes.push_back(std::move(note));
  }
}

std::set<std::string> services_on(const NodeFacts& node) {
  std::set<std::string> services;
  if (node.kind != WorkloadKind::kRealtimeInference) return services;
  for (const GpuLoad& gpu : node.gpus)
    services.insert(service_name(node, gpu));
  return services;
}

}  // namespace

std::optional<double> parse_promise(std::string_view text) {
  double unit_ms = 1;
  if (text.ends_with("ms")) {
    text.remove_suffix(2);
  } else if (text.ends_with('s')) {
    text.remove_suffix(1);
    unit_ms = 1000;
  } else {
    return std::nullopt;
  }
  const auto number = parse_number(trim(text));
  if (!number || *number <= 0 || *number * unit_ms > kLongestMs) return std::nullopt;
  return *number * unit_ms;
}

P99Bound p99_bound(const FleetFacts& fleet, const std::string& service, std::optional<double> now_ms) {
  const auto own = fleet.promises_ms.find(service);
  std::optional<double> pct = fleet.promised_pct;
  if (own != fleet.promises_ms.end() && now_ms && *now_ms > 0) {
    const double own_pct = 100 * own->second / *now_ms;
    pct = std::min(own_pct, pct.value_or(own_pct));
  }
  return {pct.value_or(fleet.unpromised_pct), pct.has_value()};
}

std::string promise_text(const FleetFacts& fleet) {
  if (fleet.promised_pct)
    return fmt::format(
        "keep p99 within {:.0f} % of what it is, as the goals promise, or what is promised of one where that is stricter",
        *fleet.promised_pct);
  if (fleet.unpromised_pct == kTodaysP99Pct)
    return "keep p99 within what is promised of it, else within what it is today (to 1 %)";
  return fmt::format("keep p99 within what is promised of it, else within {:.0f} % of what it is", fleet.unpromised_pct);
}

void add_promises(FleetFacts& fleet, std::span<const Goal> goals) {
  for (const Goal& goal : goals) {
    if (goal.measure == GoalMeasure::kServiceP99) note_promise(fleet, goal.service, goal.bound);
    if (goal.measure == GoalMeasure::kLatencyP99)
      fleet.promised_pct = std::min(fleet.promised_pct.value_or(goal.bound), goal.bound);
  }
}

void add_promises(FleetFacts& fleet, const Ledger& ledger) {
  std::set<std::pair<size_t, Tag>> seen;  // a machine has many lines with the same tags
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    if (!ledger.line_nodes[i].valid()) continue;
    const size_t node = ledger.line_nodes[i].index();
    for (const Tag& tag : ledger.lines[i].tags)
      if (is_promise_key(tag.first) && seen.emplace(node, tag).second)
        promise_by_tags(fleet, {&tag, 1}, services_on(fleet.nodes[node]), fleet.nodes[node].name);
  }
}

void add_promises(FleetFacts& fleet, const History& history, const RunOwners& owners) {
  if (owners.empty()) return;
  for (const Run& run : history.runs)
    if (const auto owner = owners.find({run.id, run.restart}); owner != owners.end())
      promise_by_tags(fleet, owner->second.labels, {run.tenant.workload.empty() ? run.name : run.tenant.workload}, run.name);
}

}  // namespace stint
