#include "advise/plan/history_demand.h"

#include <algorithm>
#include <map>

#include "ledger/node_hours.h"

namespace stint {
namespace {

constexpr size_t kMostClients = 5;

/// Weights of one hour over the whole fleet, of kGpuHourWeight.
struct FleetHour {
  double held = 0;
  double active = 0;
  double unknown = 0;
  double all = 0;
  std::map<std::string, double> by_client;
  [[nodiscard]] bool known() const { return all > 0 && unknown * 2 <= all; }
};

std::vector<FleetHour> fleet_hours(const History& history, const Occupancy& occupancy) {
  TenantTable tenants = occupancy.tenants;
  const TenantId unowned = tenants.intern({});
  const NodeHours hours = NodeHours::build(history, occupancy, unowned);
  const int64_t first = history.period.begin.hour_index();
  std::vector<FleetHour> all(static_cast<size_t>(std::max<int64_t>(0, history.period.end.hour_index() - first)));
  for (uint32_t node = 0; node < history.nodes.size(); ++node)
    for (const NodeHours::Hour& hour : hours.of(NodeId(node))) {
      if (hour.hour_index < first || hour.hour_index >= first + static_cast<int64_t>(all.size())) continue;
      FleetHour& fleet = all[static_cast<size_t>(hour.hour_index - first)];
      for (const NodeHours::Bucket& bucket : hours.buckets(hour)) {
        const NodeHours::Key& key = hours.keys()[bucket.key];
        const double gpus = static_cast<double>(bucket.weight) / static_cast<double>(kGpuHourWeight);
        fleet.all += gpus;
        if (key.cause == IdleCause::kTelemetryMissing) fleet.unknown += gpus;
        if (key.cause != IdleCause::kNone && key.cause != IdleCause::kInactive) continue;
        fleet.held += gpus;
        if (key.cause == IdleCause::kNone && key.activity_known) fleet.active += gpus;
        if (key.tenant != unowned) fleet.by_client[tenants[key.tenant].client] += gpus;
      }
    }
  return all;
}

/// The same from job records alone, from the first begin to the last end: what a batch system gave out is known without telemetry.
std::vector<FleetHour> hours_of_runs(const History& history) {
  const int64_t first = history.period.begin.hour_index();
  std::vector<FleetHour> all(static_cast<size_t>(std::max<int64_t>(0, history.period.end.hour_index() - first)));
  Interval recorded = {history.period.end, history.period.begin};
  for (const Run& run : history.runs) {
    if (!run.started) continue;
    const Interval held = intersect({*run.started, run.ended.value_or(history.period.end)}, history.period);
    if (held.empty()) continue;
    recorded = {std::min(recorded.begin, held.begin), std::max(recorded.end, held.end)};
    int64_t gpus = 0;
    for (const RunAllocation& allocation : run.allocations)
      gpus += allocation.gpu_count;
    const std::string client = merged(run.tenant, tenant_of(run.holder, history.tenant_rules)).client;
    for (int64_t h = held.begin.hour_index(); Instant::from_hour_index(h) < held.end; ++h) {
      const auto at = static_cast<size_t>(h - first);
      if (at >= all.size()) break;
      const Interval part = intersect(held, {Instant::from_hour_index(h), Instant::from_hour_index(h + 1)});
      all[at].held += static_cast<double>(gpus) * part.length().to_hours();
      all[at].by_client[client] += static_cast<double>(gpus) * part.length().to_hours();
    }
  }
  // Where any job was recorded before and after, an hour without one held nothing.
  for (size_t i = 0; i < all.size(); ++i)
    if (recorded.contains(Instant::from_hour_index(first + static_cast<int64_t>(i)))) all[i].all = 1;
  return all;
}

template <typename Value>
DemandSeries series_of(const History& history, std::string name, std::string unit, const std::vector<FleetHour>& hours,
                       Value&& value) {
  DemandSeries series{std::move(name), std::move(unit), history.period.begin.hour_start(), kHour, {}};
  for (const FleetHour& hour : hours)
    series.values.push_back(hour.known() ? std::optional<double>(value(hour)) : std::nullopt);
  return series;
}

std::vector<std::string> largest_clients(const std::vector<FleetHour>& hours) {
  std::map<std::string, double> totals;
  for (const FleetHour& hour : hours)
    for (const auto& [client, gpus] : hour.by_client)
      if (!client.empty()) totals[client] += gpus;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [client, gpus] : totals)
    order.emplace_back(-gpus, client);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (const auto& [gpus, client] : order)
    if (names.size() < kMostClients) names.push_back(client);
  return names;
}

/// Every line's money spread evenly over its charge period.
DemandSeries cost_of(const History& history, const Ledger& ledger) {
  DemandSeries series{"cost", "", history.period.begin.hour_start(), kHour, {}};
  const size_t hours = static_cast<size_t>(std::max<int64_t>(0, history.period.end.hour_index() - series.begin.hour_index()));
  Interval billed;
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    const Interval charged = intersect(ledger.lines[i].charge_period, history.period);
    if (charged.empty()) continue;
    if (series.unit.empty()) series.unit = fmt::format("{}/h", ledger.line_amounts[i].currency().code());
    if (series.values.empty()) {
      series.values.resize(hours);
      billed = charged;
    }
    billed = {std::min(billed.begin, charged.begin), std::max(billed.end, charged.end)};
    const double per_hour = ledger.line_amounts[i].to_double() / charged.length().to_hours();
    for (int64_t hour = charged.begin.hour_index(); Instant::from_hour_index(hour) < charged.end; ++hour) {
      const auto index = static_cast<size_t>(hour - series.begin.hour_index());
      if (index >= hours) break;
      const Interval part = intersect(charged, {Instant::from_hour_index(hour), Instant::from_hour_index(hour + 1)});
      series.values[index] = series.values[index].value_or(0) + per_hour * part.length().to_hours();
    }
  }
  // Between the first and the last charge an hour without any cost nothing; outside no bill has come yet.
  for (size_t i = 0; i < series.values.size(); ++i)
    if (!series.values[i] && billed.contains(series.at(i))) series.values[i] = 0;
  return series;
}

/// By kind, from the first to the last run's begin: an hour without any had none.
std::vector<DemandSeries> runs_of(const History& history) {
  std::map<std::string_view, std::vector<Instant>> by_kind;
  Instant first = history.period.end;
  Instant last = history.period.begin;
  for (const Run& run : history.runs) {
    const auto begun = run.submitted ? run.submitted : run.started;
    if (!begun || !history.period.contains(*begun)) continue;
    by_kind[name_of(run.kind)].push_back(*begun);
    first = std::min(first, *begun);
    last = std::max(last, *begun);
  }
  std::vector<DemandSeries> all;
  for (const auto& [kind, begun] : by_kind) {
    DemandSeries series{fmt::format("runs begun, {}", kind), "runs/h", first.hour_start(), kHour, {}};
    series.values.assign(static_cast<size_t>(last.hour_index() - first.hour_index() + 1), 0.0);
    for (const Instant at : begun)
      *series.values[static_cast<size_t>(at.hour_index() - first.hour_index())] += 1;
    all.push_back(std::move(series));
  }
  return all;
}

/// Hours at the ends without any record are not part of the series.
void trim_ends(DemandSeries& series) {
  while (!series.values.empty() && !series.values.back())
    series.values.pop_back();
  const auto known = std::find_if(series.values.begin(), series.values.end(), [](const auto& v) { return v.has_value(); });
  series.begin = series.begin + series.step * static_cast<int64_t>(known - series.values.begin());
  series.values.erase(series.values.begin(), known);
}

}  // namespace

std::vector<DemandSeries> demands_of(const History& history, const Occupancy& occupancy, const Ledger& ledger) {
  const std::vector<FleetHour> measured = fleet_hours(history, occupancy);
  std::vector<FleetHour> held = hours_of_runs(history);
  if (std::ranges::count_if(measured, &FleetHour::known) * 2 >= std::ranges::count_if(held, &FleetHour::known)) held = measured;
  std::vector<DemandSeries> all;
  all.push_back(series_of(history, "GPUs held", "GPUs", held, [](const FleetHour& h) { return h.held; }));
  all.push_back(series_of(history, "GPUs active", "GPUs", measured, [](const FleetHour& h) { return h.active; }));
  all.push_back(cost_of(history, ledger));
  for (DemandSeries& series : runs_of(history))
    all.push_back(std::move(series));
  for (const std::string& client : largest_clients(held))
    all.push_back(series_of(history, fmt::format("GPUs held by {}", client), "GPUs", held, [&](const FleetHour& h) {
      const auto it = h.by_client.find(client);
      return it == h.by_client.end() ? 0.0 : it->second;
    }));
  for (DemandSeries& series : all)
    trim_ends(series);
  std::erase_if(all, [](const DemandSeries& s) {
    return std::none_of(s.values.begin(), s.values.end(), [](const auto& v) { return v && *v != 0; });
  });
  return all;
}

FleetCapacity capacity_at(const History& history, Instant at) {
  FleetCapacity capacity;
  for (const Node& node : history.nodes) {
    if ((node.present_from && at < *node.present_from) || (node.present_until && *node.present_until < at)) continue;
    capacity.gpus += node.gpu_count;
    if (node.market == Market::kReserved || node.market == Market::kOwned) capacity.committed_gpus += node.gpu_count;
  }
  return capacity;
}

}  // namespace stint
