// Region: the same type where it is cheaper, within the regions the data may be in.
//
// A move is shown outside the plan: no source says how much data must follow, and whether users feel the distance. `stint plan schedule`
// prices the transfer of as much as it is told.
#include <algorithm>

#include "advise/find/finder_text.h"

#include "advise/thresholds.h"
#include "base/short_money.h"

namespace stint {
namespace {

/// Regions that only some customers can buy in.
bool is_closed(const std::string& region) {
  return region.starts_with("us-gov") || region.starts_with("cn-") || region.starts_with("usgov") ||
         region.starts_with("usdod") || region.starts_with("china");
}

struct Cheaper {
  std::string region;
  Money hourly;
};

std::optional<Cheaper> cheapest(const FleetView& fleet, const PlanNode& plan, const std::vector<std::string>& allowed) {
  std::optional<Cheaper> best;
  const Market market = plan.market == Market::kSpot ? Market::kSpot : Market::kOnDemand;
  for (const PriceRow& row : fleet.prices.catalog().price_range(plan.provider, plan.instance_type)) {
    const bool may = allowed.empty() || std::any_of(allowed.begin(), allowed.end(),
                                                    [&](const auto& glob) { return glob_matches(glob, row.region); });
    const Money price = row.rate.per_hour();
    if (row.market != market || !may || is_closed(row.region) || row.region == plan.region ||
        price.currency() != fleet.facts.currency)
      continue;
    if (!best || price < best->hourly) best = Cheaper{row.region, price};
  }
  return best;
}

}  // namespace

Proposals find_region(const FleetView& fleet) {
  std::map<std::pair<std::string, std::string>, NodeGroup> groups;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    const bool can_move = plan.market == Market::kOnDemand || plan.market == Market::kUnknown || plan.market == Market::kSpot;
    const auto hourly = fleet.books.hourly(node.id);
    if (plan.gone || !can_move || !hourly || plan.region.empty()) continue;
    const auto better = cheapest(fleet, plan, fleet.allowed_regions);
    if (!better || better->hourly.to_double() > hourly->to_double() * (1 - kSmallestSaving)) continue;
    groups[{plan.provider + '\t' + plan.region + '\t' + plan.instance_type, better->region}].push_back(&node);
  }
  Proposals out;
  for (const auto& [key, group] : groups) {
    const PlanNode& plan = fleet.books.of(group.front()->id);
    Finding f;
    f.change = MoveRegion{names_of(group), key.second};
    f.title = fmt::format("Move {} from {} to {}",
                          group.size() == 1 ? group.front()->name : fmt::format("{} × {}", group.size(), plan.instance_type),
                          plan.region, key.second);
    f.confidence = Level::kMedium;
    f.risk = Level::kMedium;
    f.effort = Level::kHigh;
    const auto now = fleet.books.hourly(group.front()->id);
    const auto* quote = fleet.prices.find({plan.provider, plan.instance_type, key.second},
                                          plan.market == Market::kSpot ? Market::kSpot : Market::kOnDemand);
    f.evidence.push_back({"price per hour", fmt::format("{} in {}, {} in {}", short_money(*now), plan.region,
                                                        short_money(quote->hourly), key.second)});
    f.evidence.push_back({"source", fmt::format("{}, {}", quote->row.source, format_date(quote->row.as_of))});
    f.arithmetic.push_back(cost_line(fleet, group));
    if (const auto saving = fleet.books.saving_of(f.change); saving.ok()) f.alone_per_month = *saving;
    if (fleet.allowed_regions.empty())
      f.caveats.push_back("residency not known: name the regions the data may be in (--allow-region) to have moves considered");
    f.caveats.emplace_back(
        "neither the transfer of the data nor the distance to users is in the figure, so it is no part of the plan: "
        "`stint plan schedule --data-gb N` prices the transfer");
    out.rejected.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
