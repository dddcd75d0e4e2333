// Spot: work that can be interrupted and resumed, on capacity that is sold below the on-demand price.
#include <algorithm>

#include "advise/find/finder_text.h"

namespace stint {
namespace {

constexpr double kShortestRunHours = 1;  // shorter work pays more for starting than spot saves

bool suits(WorkloadKind kind) {
  return kind == WorkloadKind::kTraining || kind == WorkloadKind::kFineTuning || kind == WorkloadKind::kBatchInference ||
         kind == WorkloadKind::kEvaluation;
}

/// Mean length of the runs recorded on each node; 0 = none recorded.
std::map<std::string, double> mean_run_hours(const FleetView& fleet) {
  std::map<std::string, std::pair<double, int>> sums;
  for (const Run& run : fleet.history.runs) {
    if (!run.started) continue;
    const double length = (run.ended.value_or(fleet.facts.period.end) - *run.started).to_hours();
    for (const RunAllocation& allocation : run.allocations) {
      auto& [sum, count] = sums[allocation.node];
      sum += length;
      ++count;
    }
  }
  std::map<std::string, double> means;
  for (const auto& [node, s] : sums)
    means[node] = s.first / s.second;
  return means;
}

/// What moves is what the change names, the replay tries and the commands move: whole machines. The first ones stay.
NodeGroup those_that_move(const NodeGroup& pool) {
  const size_t stay = pool.size() * (100 - kSpotSharePct) / 100;
  return {pool.begin() + static_cast<ptrdiff_t>(stay), pool.end()};
}

/// @param pool  of which `group` moves.
Finding finding_for(const FleetView& fleet, const NodeGroup& pool, const NodeGroup& group) {
  const PlanNode& plan = fleet.books.of(group.front()->id);
  Finding f;
  f.change = SwitchMarket{names_of(group), Market::kSpot};
  const std::string some = group.size() < pool.size() ? fmt::format("{} of ", group.size()) : "";
  f.title = fmt::format("Run the {} on {} on spot", group.front()->category,
                        pool.size() == 1 ? group.front()->name : fmt::format("{}{} × {}", some, pool.size(), plan.instance_type));
  f.risk = Level::kMedium;
  f.effort = Level::kMedium;
  const bool known = std::all_of(group.begin(), group.end(), [](const NodeFacts* n) { return n->checkpointable == true; });
  f.confidence = known ? Level::kHigh : Level::kMedium;
  f.evidence.push_back({"kind of work", std::string(name_of(group.front()->kind))});
  f.evidence.push_back({"checkpoints", known ? "yes" : "not known"});
  f.arithmetic.push_back(cost_line(fleet, group));
  if (!known) f.caveats.push_back("no record says that this work saves checkpoints: confirm it, or add them, before moving it");
  return f;
}

void reject(Proposals& out, Finding f, std::string why) {
  f.caveats.insert(f.caveats.begin(), std::move(why));
  out.rejected.push_back(std::move(f));
}

void price(const FleetView& fleet, const NodeGroup& group, Finding f, Proposals& out) {
  const PlanNode& plan = fleet.books.of(group.front()->id);
  const auto* quote = fleet.prices.find({plan.provider, plan.instance_type, plan.region}, Market::kSpot);
  const auto now = fleet.books.hourly(group.front()->id);
  if (quote == nullptr || !now)
    return reject(out, std::move(f),
                  fmt::format("no spot price known for {} in {}: import one with `stint import prices`", plan.instance_type,
                              plan.region.empty() ? "its region" : plan.region));
  const InterruptionRate rate = fleet.books.spot_rate(group.front()->id);
  const InterruptionModel model = interruption_model(rate.mean());
  const double stretch = expected_stretch(model);
  const double discount = 1 - quote->hourly.to_double() / now->to_double();
  f.evidence.push_back({"spot price per hour", fmt::format("{} ({} below the {} paid)", quote->hourly.to_text(4),
                                                           percent(100 * discount), now->to_text(4))});
  f.evidence.push_back({"source", fmt::format("{}, {}", quote->row.source, format_date(quote->row.as_of))});
  const SpotTime time = spot_time(model.mean_between);
  f.arithmetic.push_back(fmt::format(
      "{}, checkpoint {:.0f} min, restart {:.0f} min: best interval {:.2f} h, work that is never idle takes {:.3f} × as long "
      "(Daly 2006)",
      belief_text(rate, fleet.facts.spot.seen(fleet.books.place_of(group.front()->id))), model.checkpoint.to_seconds() / 60,
      model.restart.to_seconds() / 60, best_checkpoint_interval_h(model), stretch));
  f.arithmetic.push_back(fmt::format(
      "cost after = {} of the hours × spot price + {} × now, on demand while spot is away; the rest is neither there nor paid",
      percent(100 * time.on_spot, 2), percent(100 * time.on_demand, 2)));
  if ((1 - discount) * stretch >= 1) return reject(out, std::move(f), "after interruptions spot is not cheaper here");
  if (quote->row.estimated) {
    f.confidence = at_most(f.confidence, Level::kMedium);
    f.caveats.push_back(
        "the spot price is an estimate (on-demand × the advisor's discount), not a quote: import current spot prices");
  }
  f.caveats.push_back(
      "spot capacity can be absent for hours: a machine on demand stands in meanwhile; spread the rest over zones and types");
  out.advised.push_back(std::move(f));
}

}  // namespace

Proposals find_spot(const FleetView& fleet) {
  const auto run_hours = mean_run_hours(fleet);
  enum class Case { kMove, kCannotResume, kTooShort };
  std::map<std::pair<std::string, Case>, NodeGroup> groups;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    const bool on_demand = plan.market == Market::kOnDemand || plan.market == Market::kUnknown;
    if (plan.gone || !on_demand || plan.market_changed || plan.monthly.count_nanos() <= 0 || !suits(node.kind)) continue;
    const auto length = run_hours.find(node.name);
    const Case which = node.checkpointable == false                                      ? Case::kCannotResume
                       : length != run_hours.end() && length->second < kShortestRunHours ? Case::kTooShort
                                                                                         : Case::kMove;
    // Zones in which as much is believed are one change.
    const InterruptionRate rate = fleet.books.spot_rate(node.id);
    groups[{fmt::format("{}\t{}\t{}\t{}\t{}/{}", plan.provider, plan.region, plan.instance_type, node.category, rate.count,
                        rate.hours),
            which}]
        .push_back(&node);
  }
  Proposals out;
  for (const auto& [key, group] : groups) {
    const NodeGroup moving = those_that_move(group);
    Finding f = finding_for(fleet, group, moving);
    if (key.second == Case::kMove) {
      price(fleet, moving, std::move(f), out);
      continue;
    }
    if (const auto saving = fleet.books.saving_of(f.change); saving.ok()) f.alone_per_month = *saving;
    reject(out, std::move(f),
           key.second == Case::kCannotResume ? "the work cannot resume after an interruption: add checkpoints first"
                                             : "the runs are shorter than an hour: starting anew costs more than spot saves");
  }
  return out;
}

}  // namespace stint
