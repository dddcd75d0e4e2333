#include "advise/report_views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ledger/node_hours.h"

namespace stint {
namespace {

/// Named sums of period money, turned into months so that they keep their sum.
class ViewSums {
 public:
  explicit ViewSums(const FleetFacts& facts) : facts_(facts) {}
  void add(const std::string& name, Money amount) {
    const auto it = sums_.try_emplace(name, Money::nanos(0, facts_.currency)).first;
    it->second += amount;
  }
  [[nodiscard]] std::vector<NamedAmount> monthly() const {
    std::vector<Money> amounts;
    for (const auto& [name, amount] : sums_)
      amounts.push_back(amount);
    const std::vector<Money> months = facts_.months.monthly(amounts);
    std::vector<NamedAmount> out;
    for (const auto& [name, amount] : sums_)
      out.push_back({name, months[out.size()]});
    std::stable_sort(out.begin(), out.end(), [](const NamedAmount& a, const NamedAmount& b) { return a.amount > b.amount; });
    return out;
  }

 private:
  const FleetFacts& facts_;
  std::map<std::string, Money> sums_;
};

/// Where a posting's money shows in a client's row.
size_t column_of(const Posting& posting) {
  if (posting.shared) return 6;
  switch (posting.spend) {
    case SpendKind::kStorage: return 4;
    case SpendKind::kTransfer: return 5;
    case SpendKind::kCompute:
    case SpendKind::kOther: break;
  }
  switch (posting.kind) {
    case WorkloadKind::kTraining:
    case WorkloadKind::kFineTuning: return 0;
    case WorkloadKind::kBatchInference:
    case WorkloadKind::kRealtimeInference: return 1;
    case WorkloadKind::kEvaluation: return 2;
    case WorkloadKind::kNotebook:
    case WorkloadKind::kUnknown: break;
  }
  return 3;
}
constexpr size_t kColumns = 7;

struct ClientSums {
  std::array<Money, kColumns> columns;
  Money inactive;
  double held_hours = 0;  // GPU-hours
  double busy_hours = 0;  // GPU-hours × utilisation
  double watched_hours = 0;
};

/// GPU-hours held by each client, and how busy the GPUs were meanwhile.
void add_hours(std::map<std::string, ClientSums>& clients, const ClientSums& empty, const FleetFacts& facts,
               const History& history, const Usage& usage, const Occupancy& occupancy) {
  // MIG instances weigh what the ledger weighs them: the node's hours know, per tenant.
  const NodeHours hours = NodeHours::build(history, occupancy, TenantId());
  const auto keys = hours.keys();
  for (size_t n = 0; n < facts.nodes.size(); ++n)
    for (const NodeHours::Hour& hour : hours.of(facts.nodes[n].id))
      for (const NodeHours::Bucket& bucket : hours.buckets(hour)) {
        const NodeHours::Key& key = keys[bucket.key];
        if (!key.tenant.valid() || (key.cause != IdleCause::kNone && key.cause != IdleCause::kInactive)) continue;
        auto& sums = clients.try_emplace(occupancy.tenants[key.tenant].client, empty).first->second;
        sums.held_hours += static_cast<double>(bucket.weight) / static_cast<double>(kGpuHourWeight);
      }
  for (const DeviceHour& hour : occupancy.hours) {
    const HourlySeries* series = usage.devices[hour.device.index()].utilization();
    const int64_t at = hour.hour_index - facts.first_hour;
    if (series == nullptr || at < 0 || at >= static_cast<int64_t>(series->hours.size())) continue;
    const HourlySeries::Hour& seen = series->hours[static_cast<size_t>(at)];
    const auto tenures = occupancy.of(hour);
    if (seen.covered_s == 0 || tenures.empty()) continue;
    double held = 0;
    double active = 0;
    for (const Tenure& t : tenures) {
      held += static_cast<double>(t.held);
      active += static_cast<double>(t.active);
    }
    if (held <= 0) continue;
    // Busy time goes to those who were active, in proportion; the hour's mean is of its covered part.
    const double watched = seen.covered_s / 3600.0;
    for (const Tenure& t : tenures) {
      auto& sums = clients.try_emplace(occupancy.tenants[t.tenant].client, empty).first->second;
      sums.watched_hours += watched * static_cast<double>(t.held) / held;
      if (active > 0) sums.busy_hours += watched * seen.mean / 100 * static_cast<double>(t.active) / active;
    }
  }
}

}  // namespace

std::vector<ClientSpend> client_view(const FleetFacts& facts, const History& history, const Usage& usage,
                                     const Occupancy& occupancy, const Ledger& ledger) {
  const Money zero = Money::nanos(0, facts.currency);
  ClientSums empty;
  empty.columns.fill(zero);
  empty.inactive = zero;
  std::map<std::string, ClientSums> clients;
  for (const Posting& posting : ledger.postings) {
    ClientSums& sums = clients.try_emplace(ledger.tenants[posting.tenant].client, empty).first->second;
    sums.columns[column_of(posting)] += posting.amount;
    if (posting.cause == IdleCause::kInactive) sums.inactive += posting.amount;
  }
  add_hours(clients, empty, facts, history, usage, occupancy);

  // All cells of all rows are rounded as one sequence, so that rows and columns sum to the bill.
  std::vector<Money> cells;
  for (const auto& [name, sums] : clients)
    cells.insert(cells.end(), sums.columns.begin(), sums.columns.end());
  const std::vector<Money> monthly = facts.months.monthly(cells);
  std::vector<ClientSpend> out;
  for (const auto& [name, sums] : clients) {
    const Money* cell = &monthly[out.size() * kColumns];
    ClientSpend row{.client = name,
                    .total = zero,
                    .training = cell[0],
                    .inference = cell[1],
                    .evaluation = cell[2],
                    .other_compute = cell[3],
                    .storage = cell[4],
                    .transfer = cell[5],
                    .shared = cell[6],
                    .inactive = facts.months.monthly(sums.inactive),
                    .gpu_hours = sums.held_hours,
                    .mean_utilization_pct = {}};
    for (size_t c = 0; c < kColumns; ++c)
      row.total += cell[c];
    if (sums.watched_hours > 0) row.mean_utilization_pct = 100 * sums.busy_hours / sums.watched_hours;
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const ClientSpend& a, const ClientSpend& b) { return a.total > b.total; });
  return out;
}

std::vector<NamedAmount> idle_view(const FleetFacts& facts, const Ledger& ledger) {
  ViewSums sums(facts);
  const Money zero = Money::nanos(0, facts.currency);
  std::vector<Money> active(facts.nodes.size(), zero);  // of the machine itself, in its active hours
  for (const Posting& posting : ledger.postings) {
    const NodeId node = ledger.line_nodes[posting.bill_line];
    if (posting.cause != IdleCause::kNone)
      sums.add(std::string(name_of(posting.cause)), posting.amount);
    else if (posting.spend == SpendKind::kCompute && node.valid() && facts.nodes[node.index()].gpu_count > 0)
      active[node.index()] += posting.amount;
  }
  for (const NodeFacts& node : facts.nodes) {
    const Money held = active[node.id.index()];
    if (held.count_nanos() <= 0) continue;
    if (!node.mean_pct) {
      sums.add(std::string(name_of(IdleCause::kTelemetryMissing)), held);
      continue;
    }
    const Money used = std::min(held, Money::estimate(node.compute.to_double() * *node.mean_pct / 100, facts.currency));
    if (used < held) sums.add(std::string(kPartlyUsed), held - used);
  }
  return sums.monthly();
}

std::vector<NamedAmount> category_view(const FleetFacts& facts, const Ledger& ledger) {
  ViewSums sums(facts);
  for (const Posting& posting : ledger.postings) {
    const NodeId node = ledger.line_nodes[posting.bill_line];
    if (posting.spend == SpendKind::kStorage || posting.spend == SpendKind::kTransfer) {
      sums.add(std::string(name_of(posting.spend)), posting.amount);
    } else if (posting.spend == SpendKind::kOther) {
      sums.add("other charges", posting.amount);
    } else if (node.valid() && (posting.kind == WorkloadKind::kUnknown || posting.kind == facts.nodes[node.index()].kind)) {
      sums.add(facts.nodes[node.index()].category, posting.amount);
    } else if (!node.valid() && posting.kind == WorkloadKind::kUnknown) {
      sums.add("compute of unknown machines", posting.amount);
    } else {
      sums.add(category_of(posting.kind, ledger.tenants[posting.tenant]), posting.amount);
    }
  }
  return sums.monthly();
}

std::vector<CurvePoint> curve_view(const FleetFacts& facts) {
  std::vector<CurvePoint> out;
  for (const NodeFacts& node : facts.nodes) {
    const double useful = node.hours * static_cast<double>(node.gpu_count) * node.mean_pct.value_or(0) / 100;
    if (useful <= 0 || node.compute.count_nanos() <= 0) continue;
    out.push_back({node.name, *node.mean_pct, Money::estimate(node.compute.to_double() / useful, facts.currency)});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.utilization_pct < b.utilization_pct; });
  return out;
}

std::vector<HeatRow> heat_view(const FleetFacts& facts) {
  std::vector<HeatRow> out;
  for (const NodeFacts& node : facts.nodes) {
    std::array<double, 168> sum{};
    std::array<double, 168> weight{};
    for (size_t h = 0; h < node.timeline.size(); ++h) {
      if (node.timeline[h].mean_pct < 0) continue;
      const size_t slot = hour_of_week(facts.first_hour + static_cast<int64_t>(h));
      sum[slot] += static_cast<double>(node.timeline[h].mean_pct) * node.timeline[h].seen_s;
      weight[slot] += node.timeline[h].seen_s;
    }
    HeatRow row{node.name, std::vector<float>(168, -1)};
    for (size_t slot = 0; slot < 168; ++slot)
      if (weight[slot] > 0) row.hours[slot] = static_cast<float>(sum[slot] / weight[slot]);
    out.push_back(std::move(row));
  }
  return out;
}

namespace {

std::string name_of_holder(const Holder& h) {
  std::string name;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) name += (name.empty() ? "" : "/") + part;
  };
  add(h.ns);
  add(h.pod);
  add(h.container);
  add(h.job);
  add(h.user);
  if (name.empty()) add(h.account);
  if (name.empty()) add(h.process);
  return name;
}

struct HolderSums {
  double utilization = 0, idle = 0, seconds = 0;
  double memory = 0, memory_seconds = 0;
  double span_hours = 0;
};

}  // namespace

std::vector<HolderAudit> holder_view(const History& history, const Usage& usage) {
  std::map<HolderId, HolderSums> holders;
  for (const DeviceUsage& device : usage.devices)
    for (const DeviceUsage::Held& held : device.holders) {
      if (history.holders[held.holder.index()].empty()) continue;
      HolderSums& sums = holders[held.holder];
      const HourlySeries* utilization = nullptr;
      for (const Metric m : {Metric::kUtilization, Metric::kEngineActive, Metric::kSmActive}) {
        const auto it = held.metrics.find(m);
        if (it == held.metrics.end() || it->second.empty()) continue;
        const bool silent = utilization != nullptr && utilization->max == 0 && it->second.max > 0;
        if (utilization == nullptr || silent) utilization = &it->second;
      }
      size_t first = SIZE_MAX;
      size_t last = 0;
      const auto see = [&](size_t h) {
        first = std::min(first, h);
        last = std::max(last, h);
      };
      for (size_t h = 0; utilization != nullptr && h < utilization->hours.size(); ++h) {
        const HourlySeries::Hour& hour = utilization->hours[h];
        if (hour.covered_s == 0) continue;
        see(h);
        sums.utilization += static_cast<double>(hour.mean) * hour.covered_s;
        sums.idle += static_cast<double>(hour.idle_permille) / 10 * hour.covered_s;
        sums.seconds += hour.covered_s;
      }
      if (const auto it = held.metrics.find(Metric::kMemoryUsed); it != held.metrics.end())
        for (size_t h = 0; h < it->second.hours.size(); ++h) {
          const HourlySeries::Hour& hour = it->second.hours[h];
          if (hour.covered_s == 0) continue;
          see(h);
          sums.memory += static_cast<double>(hour.mean) * hour.covered_s;
          sums.memory_seconds += hour.covered_s;
        }
      if (first != SIZE_MAX) sums.span_hours += static_cast<double>(last - first + 1);
    }
  std::vector<HolderAudit> out;
  for (const auto& [id, sums] : holders) {
    const Holder& holder = history.holders[id.index()];
    HolderAudit row{.name = name_of_holder(holder),
                    .client = tenant_of(holder, history.tenant_rules).client,
                    .gpu_hours = sums.seconds / 3600,
                    .mean_utilization_pct = {},
                    .idle_pct = {},
                    .memory_mean = {},
                    .coverage_pct = 0};
    if (sums.seconds > 0) {
      row.mean_utilization_pct = sums.utilization / sums.seconds;
      row.idle_pct = sums.idle / sums.seconds;
    }
    if (sums.memory_seconds > 0) row.memory_mean = Bytes::of(std::llround(sums.memory / sums.memory_seconds));
    if (sums.span_hours > 0) row.coverage_pct = 100 * sums.seconds / 3600 / sums.span_hours;
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const HolderAudit& a, const HolderAudit& b) { return a.gpu_hours > b.gpu_hours; });
  return out;
}

}  // namespace stint
