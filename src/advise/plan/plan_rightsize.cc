#include "advise/plan/plan_rightsize.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "advise/plan/rightsize_target.h"
#include "base/counted.h"
#include "base/text.h"

namespace stint {
namespace {

bool is_pooled(const NodeFacts& node) {
  const bool cut = std::ranges::any_of(node.gpus, [](const GpuLoad& gpu) { return gpu.instances.size() > 1; });
  return node.kind == WorkloadKind::kRealtimeInference && !cut;
}

/// Machines that have to be decided together: those with replicas of the same services, joined; jobs' machines each for themselves.
std::vector<NodeGroup> rightsize_units(const NodeGroup& group) {
  std::vector<size_t> root(group.size());
  std::iota(root.begin(), root.end(), size_t{0});
  const auto find = [&](size_t i) {
    while (root[i] != i)
      i = root[i] = root[root[i]];
    return i;
  };
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < group.size(); ++i) {
    if (!is_pooled(*group[i])) continue;
    for (const GpuLoad& gpu : group[i]->gpus) {
      if (!gpu.in_use) continue;
      const size_t a = find(first.try_emplace(service_name(*group[i], gpu), i).first->second);
      const size_t b = find(i);
      root[std::max(a, b)] = std::min(a, b);
    }
  }
  std::map<size_t, NodeGroup> units;
  for (size_t i = 0; i < group.size(); ++i)
    units[find(i)].push_back(group[i]);
  std::vector<NodeGroup> out;
  for (auto& [i, unit] : units)
    out.push_back(std::move(unit));
  return out;
}

NodeGroup joined(const std::vector<const RightsizeGroup*>& units) {
  NodeGroup nodes;
  for (const RightsizeGroup* unit : units)
    nodes.insert(nodes.end(), unit->nodes.begin(), unit->nodes.end());
  std::ranges::sort(nodes, {}, &NodeFacts::id);
  return nodes;
}

/// Decides one pool of like machines.
class PoolRightsizer {
 public:
  PoolRightsizer(const FleetView& fleet, const RightsizeOptions& options, RightsizeMemo& memo)
      : fleet_(fleet), options_(options), targets_(fleet, options, memo) {}

  RightsizeMemo::Pool decide(const NodeGroup& pool) {
    RightsizeMemo::Pool out;
    out.rows = rows(pool, out.unseen);
    return out;
  }

 private:
  /// @param unseen  counts machines that nothing can be said of.
  std::vector<RightsizeRow> rows(const NodeGroup& pool, int64_t& unseen) {
    std::vector<RightsizeGroup> units;
    for (const NodeGroup& nodes : rightsize_units(pool)) {
      auto unit = rightsize_group(fleet_, nodes, options_);
      if (!unit) {
        unseen += std::ssize(nodes);
        continue;
      }
      targets_.choose(*unit);
      units.push_back(std::move(*unit));
    }
    std::vector<RightsizeRow> best = each_by_itself(units);
    if (units.size() < 2 || !is_pooled(*pool.front())) return best;
    Money most = saved(best);
    for (const InstanceType& type : fleet_.prices.catalog().instances()) {
      if (type.provider != units.front().row.provider || type.whole_gpus() < 2) continue;
      std::vector<RightsizeRow> tried = together_on(units, type);
      if (tried.empty() || saved(tried) <= most) continue;
      most = saved(tried);
      best = std::move(tried);
    }
    return best;
  }

  [[nodiscard]] Money saved(const std::vector<RightsizeRow>& rows) const {
    Money sum = Money::nanos(0, fleet_.facts.currency);
    for (const RightsizeRow& row : rows)
      if (row.best) sum += row.best->saving_per_month;
    return sum;
  }

  /// Units with the same answer are one row.
  std::vector<RightsizeRow> each_by_itself(const std::vector<RightsizeGroup>& units) const {
    std::map<std::pair<std::string, bool>, std::vector<const RightsizeGroup*>> by_answer;
    for (const RightsizeGroup& unit : units)
      by_answer[{unit.row.best ? unit.row.best->type->name : "", unit.row.too_small}].push_back(&unit);
    std::vector<RightsizeRow> rows;
    for (const auto& [answer, alike] : by_answer) {
      if (alike.size() == 1) {
        rows.push_back(alike.front()->row);
        continue;
      }
      auto row = row_of(alike, alike.front()->row.best ? alike.front()->row.best->type : nullptr);
      if (row)
        rows.push_back(std::move(*row));
      else
        for (const RightsizeGroup* unit : alike)
          rows.push_back(unit->row);
    }
    return rows;
  }

  /// Units as one row on that type; none where they do not fit it together. @param type  null = as they are.
  std::optional<RightsizeRow> row_of(const std::vector<const RightsizeGroup*>& units, const InstanceType* type) const {
    auto all = rightsize_group(fleet_, joined(units), options_);
    if (!all) return std::nullopt;
    RightsizeRow row = std::move(all->row);
    all->row = row;
    if (type != nullptr) {
      auto target = targets_.on(*all, *type);
      if (!target.ok()) return std::nullopt;
      row.best = *target;
    }
    row.runner_up = units.front()->row.runner_up;
    row.dropped = units.front()->row.dropped;
    if (row.runner_up && units.size() > 1) {
      const auto next = targets_.on(*all, *row.runner_up->type);
      row.runner_up = next.ok() ? std::optional(*next) : std::nullopt;
    }
    return row;
  }

  /// All that fit that type on it together, the others each by itself. Empty: fewer than two fit, or they do not fit together.
  std::vector<RightsizeRow> together_on(const std::vector<RightsizeGroup>& units, const InstanceType& type) const {
    std::vector<const RightsizeGroup*> fit;
    std::vector<RightsizeGroup> others;
    for (const RightsizeGroup& unit : units) {
      if (type.name == unit.row.instance_type || targets_.on(unit, type).ok())
        fit.push_back(&unit);
      else
        others.push_back(unit);
    }
    if (fit.size() < 2) return {};
    auto row = row_of(fit, &type);
    if (!row || (!row->too_small && row->best->saving_per_month.to_double() < row->monthly.to_double() * options_.least_saving))
      return {};
    std::vector<RightsizeRow> rows = each_by_itself(others);
    rows.push_back(std::move(*row));
    return rows;
  }

  const FleetView& fleet_;
  const RightsizeOptions& options_;
  RightsizeTargets targets_;
};

Status check_demands(const FleetView& fleet, const RightsizeOptions& options) {
  std::set<std::string> known;
  for (const NodeFacts& node : fleet.facts.nodes)
    if (is_pooled(node))
      for (const GpuLoad& gpu : node.gpus)
        if (gpu.in_use) known.insert(service_name(node, gpu));
  for (const auto& [name, demand] : options.demands) {
    if (!known.contains(name)) {
      std::string names;
      for (const std::string& k : known)
        names += (names.empty() ? "" : ", ") + k;
      return invalid("no service '{}' in this fleet; there are {}", name, names.empty() ? "none" : names);
    }
    if (!(demand.per_gpu > 0) || !(demand.per_second >= 0))
      return invalid("service '{}': {} a second at {} each", name, demand.per_second, demand.per_gpu);
  }
  return {};
}

/// Machines by what they are and what they do.
struct RightsizePools {
  NodeGroups pools;
  int64_t unseen = 0;
  int64_t unpriced = 0;
  int64_t committed = 0;
};

RightsizePools rightsize_pools(const FleetView& fleet) {
  RightsizePools out;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& now = fleet.books.of(node.id);
    if (now.gone || now.structure_changed || node.gpu_count == 0) continue;
    if (now.market == Market::kOwned || now.market == Market::kReserved) {
      ++out.committed;
    } else if (!fleet.books.hourly(node.id)) {
      ++out.unpriced;
    } else if (node.quality < TelemetryQuality::kFair || !sees_all_gpus(node) || !resize_need(node, fleet.prices.catalog())) {
      ++out.unseen;
    } else {
      out.pools[fmt::format("{}\t{}\t{}\t{}\t{}\t{}", now.provider, now.region, now.instance_type, name_of(now.market),
                            node.category, is_pooled(node) ? "" : "apart")]
          .push_back(&node);
    }
  }
  return out;
}

/// All that the books may say differently of these machines next time.
std::string pool_state(const FleetView& fleet, const std::string& pool, const NodeGroup& nodes) {
  std::string state = pool;
  for (const NodeFacts* node : nodes) {
    const PlanNode& plan = fleet.books.of(node->id);
    fmt::format_to(std::back_inserter(state), "\n{} {} {}", node->id.index(), plan.monthly.count_nanos(), plan.seconds());
    if (!plan.hours_changed) continue;  // on when the facts say so
    Fnv1a hours;
    for (const uint16_t seconds : plan.on_s)
      hours.update({reinterpret_cast<const char*>(&seconds), sizeof seconds});
    fmt::format_to(std::back_inserter(state), " {:x}", hours.digest());
  }
  return state;
}

/// What was promised and cannot be held against anything.
std::vector<std::string> promise_notes(const FleetFacts& facts) {
  std::vector<std::string> notes = facts.promise_notes;
  for (const auto& [service, ms] : facts.promises_ms) {
    bool known = false, measured = false;
    for (const NodeFacts& node : facts.nodes)
      for (const GpuLoad& gpu : node.gpus)
        if (node.kind == WorkloadKind::kRealtimeInference && service_name(node, gpu) == service) {
          known = true;
          measured |= gpu.p99_ms.has_value();
        }
    if (!known)
      notes.push_back(fmt::format("p99 of {} ms is promised of '{}': no service has that name", ms, service));
    else if (!measured)
      notes.push_back(
          fmt::format("p99 of {} ms is promised of {}, but how long its requests take now was not measured (latency_p99): it is "
                      "held to p99 as it is",
                      ms, service));
  }
  return notes;
}

}  // namespace

Result<RightsizePlan> plan_rightsize(const FleetView& fleet, const RightsizeOptions& options) {
  TRY(check_demands(fleet, options));
  RightsizePlan plan;
  plan.notes = promise_notes(fleet.facts);
  plan.monthly = plan.saving_per_month = plan.saving_best = plan.growth_per_month = Money::nanos(0, fleet.facts.currency);
  RightsizePools found = rightsize_pools(fleet);
  RightsizeMemo own_memo;
  RightsizeMemo& memo = fleet.memo != nullptr ? *fleet.memo : own_memo;
  PoolRightsizer rightsizer(fleet, options, memo);
  for (const auto& [key, nodes] : found.pools) {
    std::string state = pool_state(fleet, key, nodes);
    auto known = memo.pools.find(state);
    if (known == memo.pools.end()) known = memo.pools.emplace(std::move(state), rightsizer.decide(nodes)).first;
    found.unseen += known->second.unseen;
    for (const RightsizeRow& row : known->second.rows) {
      plan.monthly += row.monthly;
      if (row.best && saves(row, *row.best)) {
        plan.saving_per_month += row.best->saving_per_month;
        plan.saving_best += row.best->saving_best;
      } else if (row.best) {
        plan.growth_per_month = plan.growth_per_month - row.best->saving_per_month;
      }
      plan.rows.push_back(row);
    }
  }
  const auto saved = [&](const RightsizeRow& r) {
    return r.best ? r.best->saving_per_month : Money::nanos(0, fleet.facts.currency);
  };
  std::stable_sort(plan.rows.begin(), plan.rows.end(), [&](const RightsizeRow& a, const RightsizeRow& b) {
    return saved(a) != saved(b) ? saved(a) > saved(b) : a.nodes < b.nodes;
  });
  if (found.unseen > 0)
    plan.notes.push_back(counted(found.unseen, "node was", "nodes were") +
                         " left out: telemetry of utilisation and memory on every GPU, in half of the hours or "
                         "more, is needed to say what a smaller machine must hold");
  if (found.unpriced > 0)
    plan.notes.push_back(counted(found.unpriced, "node was", "nodes were") + " left out: no cost, or no known price");
  if (found.committed > 0)
    plan.notes.push_back(counted(found.committed, "node was", "nodes were") +
                         " left out: owned or reserved, which costs the same when another does the work");
  return plan;
}

bool saves(const RightsizeRow& row, const RightsizeTarget& target) {
  return target.saving_per_month.count_nanos() > 0 && target.count <= std::ssize(row.nodes);
}

std::vector<std::string> growth_notes(const RightsizePlan& plan) {
  std::vector<std::string> notes;
  for (const RightsizeRow& row : plan.rows) {
    if (!row.best || saves(row, *row.best)) continue;
    const RightsizeTarget& to = *row.best;
    const Money more = Money::nanos(0, to.saving_per_month.currency()) - to.saving_per_month;
    notes.push_back(fmt::format(
        "{} for the work of {} × {} ({:.0f} % busy at p95, {}): {} × {} would cost {} a month {}, in no saving here",
        row.too_small ? "too small" : "too few", row.nodes.size(), row.instance_type, row.need.p95_pct,
        row.nodes.size() == 1 ? row.nodes.front() : fmt::format("{} and {} more", row.nodes.front(), row.nodes.size() - 1),
        to.count, to.type->name, (more.count_nanos() < 0 ? to.saving_per_month : more).to_text(),
        more.count_nanos() < 0 ? "less" : "more"));
  }
  return notes;
}

Change change_of(const RightsizeRow& row) {
  CHECK(row.best.has_value(), "a row without a better type");
  return ResizeNodes{row.nodes, row.best->type->name, "", row.best->count};
}

}  // namespace stint
