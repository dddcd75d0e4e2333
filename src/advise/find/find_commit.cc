// Commitments, last: for what still runs around the clock on demand after every other change.
//
// What each pool (a type in a region) has in use by the hour, as the changes before left it, goes to the planner of commitments
// (commit_portfolio.h): with U_t instances in use in hour t, on-demand price p and committed price r, committing to c costs
// r·c + p·mean((U_t − c)+) per hour, so the k-th instance pays when the share of hours with U_t ≥ k exceeds r/p. Of the payment options
// the cheapest per hour is taken. Terms are alternatives: the longest comes first, at a higher risk, and where it is not wanted the
// shorter one is there.
#include <algorithm>

#include "advise/commit/commit_pools.h"
#include "advise/find/finder_text.h"
#include "base/short_money.h"

namespace stint {
namespace {

/// Nodes of one type in one region, on demand.
struct TypePool {
  std::string provider, region, instance_type;
  auto operator<=>(const TypePool&) const = default;
};

bool is_on_demand(const FleetView& fleet, const NodeFacts& node) {
  const PlanNode& plan = fleet.books.of(node.id);
  const bool on_demand = plan.market == Market::kOnDemand || plan.market == Market::kUnknown;
  return !plan.gone && !plan.market_changed && on_demand && !plan.provider.empty() && !plan.instance_type.empty() &&
         fleet.books.hourly(node.id).has_value();
}

/// Price and use of the pool; its offers are still to come.
PortfolioType use_of(const FleetView& fleet, const TypePool& pool, const NodeGroup& group) {
  PortfolioType type{.name = pool.instance_type, .on_demand = {}, .plan_rate = {}, .offers = {}, .owned = {}, .demand = {}};
  type.demand = instances_in_use(fleet, group);
  Money paid = Money::nanos(0, fleet.facts.currency);
  int64_t seconds = 0;
  for (const NodeFacts* node : group) {
    const int64_t on = fleet.books.of(node->id).seconds();
    paid += scale(*fleet.books.hourly(node->id), on, 3600);
    seconds += on;
  }
  type.on_demand = scale(paid, 3600, seconds);
  return type;
}

double share_of_hours(const HourlyDemand& demand, int64_t at_least) {
  return static_cast<double>(std::ranges::count_if(demand, [&](int64_t d) { return d >= at_least; })) /
         static_cast<double>(demand.size());
}

Finding without_price(const FleetView& fleet, const TypePool& pool, const NodeGroup& group, int64_t around_the_clock) {
  Finding f;
  f.change = Commit{
      pool.provider,  pool.region, pool.instance_type, around_the_clock, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront,
      names_of(group)};
  f.title = fmt::format("Commit to {} × {}", around_the_clock, pool.instance_type);
  f.evidence.push_back({"around the clock on demand",
                        fmt::format("{} of {}, {}/month", around_the_clock, group.size(), monthly_of(fleet, group).to_text())});
  f.caveats.push_back(fmt::format("no reserved price known for {} in {}: import one with `stint import prices`",
                                  pool.instance_type, pool.region));
  return f;
}

/// What the commitment rests on, and when it would be a loss.
void explain(Finding& f, const FleetView& fleet, const NodeGroup& group, const PortfolioType& use,
             const PriceLookup::Quote& quote) {
  const Commit& commit = std::get<Commit>(f.change);
  const double break_even = quote.hourly.to_double() / use.on_demand.to_double();
  const bool three_years = commit.term == CommitmentTerm::kThreeYears;
  f.evidence.push_back({"instances on demand in this pool", fmt::format("{}", group.size())});
  f.evidence.push_back(
      {"committed price per hour", fmt::format("{} ({}, {}) against {} now", short_money(quote.hourly), name_of(commit.term),
                                               name_of(commit.payment), short_money(use.on_demand))});
  f.evidence.push_back({"source", fmt::format("{}, {}", quote.row.source, format_date(quote.row.as_of))});
  f.arithmetic.push_back(cost_line(fleet, group));
  f.arithmetic.push_back(fmt::format("break-even: {} / {} = {} of the hours", short_amount(quote.hourly),
                                     short_amount(use.on_demand), percent(100 * break_even)));
  f.arithmetic.push_back(fmt::format(
      "instance number {} is in use in {} of the hours{}", commit.count, percent(100 * share_of_hours(use.demand, commit.count)),
      commit.count < std::ssize(group)
          ? fmt::format(", number {} in {}", commit.count + 1, percent(100 * share_of_hours(use.demand, commit.count + 1)))
          : ""));
  int64_t covered = 0;
  for (const int64_t demand : use.demand)
    covered += std::min(demand, commit.count);
  const double used = static_cast<double>(covered) / static_cast<double>(commit.count * std::ssize(use.demand));
  const int months = three_years ? 36 : 12;
  f.arithmetic.push_back(fmt::format("what its {} months cost is what {:.1f} months of the same use cost on demand", months,
                                     months * break_even / used));
  f.caveats.push_back(fmt::format(
      "paid whether used or not: it loses money if fewer than {} of the hours are used, or the use ends within {:.1f} "
      "months; look again each quarter",
      percent(100 * break_even), months * break_even / used));
  if (commit.payment == PaymentOption::kAllUpfront) {
    const int64_t hours = commit.count * months / 12 * kHoursPerYear;
    f.caveats.push_back(fmt::format("{} are paid at once", scale(quote.hourly, hours, 1).to_text()));
  }
  if (quote.row.estimated) f.caveats.push_back("the committed price is an estimate, not a quote");
}

/// @param ways  of one term. @return none when no count pays.
std::optional<Finding> commit_for(const FleetView& fleet, const TypePool& pool, const NodeGroup& group, PortfolioType use,
                                  const std::vector<CommitWay>& ways) {
  for (const CommitWay& way : ways)
    use.offers.push_back(way.offer);
  const auto planned = plan_portfolio(std::span(&use, 1));
  if (!planned.ok() || planned->choices.front().count == 0) return std::nullopt;
  const PortfolioChoice& choice = planned->choices.front();
  const CommitWay& way = ways[*choice.offer];
  const bool three_years = way.term == CommitmentTerm::kThreeYears;
  Finding f;
  f.change = Commit{pool.provider, pool.region, pool.instance_type, choice.count, way.term, way.payment, names_of(group)};
  f.title = fmt::format("Commit to {} × {} for {}", choice.count, pool.instance_type, three_years ? "three years" : "a year");
  f.confidence = Level::kMedium;
  f.risk = three_years ? Level::kHigh : Level::kMedium;
  f.effort = Level::kLow;
  explain(f, fleet, group, use,
          *fleet.prices.find({pool.provider, pool.instance_type, pool.region}, Market::kReserved, way.term, way.payment));
  return f;
}

}  // namespace

Proposals find_commit(const FleetView& fleet) {
  std::map<TypePool, NodeGroup> pools;
  for (const NodeFacts& node : fleet.facts.nodes) {
    if (!is_on_demand(fleet, node)) continue;
    const PlanNode& plan = fleet.books.of(node.id);
    pools[{plan.provider, plan.region, plan.instance_type}].push_back(&node);
  }
  Proposals out;
  for (const auto& [pool, group] : pools) {
    const PortfolioType use = use_of(fleet, pool, group);
    const std::vector<CommitWay> ways = ways_to_commit(fleet.prices.catalog(), pool.provider, pool.region, pool.instance_type,
                                                       fleet.facts.currency, fleet.longest_term);
    if (ways.empty()) {
      int64_t around_the_clock = 0;
      while (around_the_clock < std::ssize(group) && share_of_hours(use.demand, around_the_clock + 1) >= 0.95)
        ++around_the_clock;
      if (around_the_clock > 0) out.rejected.push_back(without_price(fleet, pool, group, around_the_clock));
    }
    for (const CommitmentTerm term : {CommitmentTerm::kThreeYears, CommitmentTerm::kOneYear}) {
      std::vector<CommitWay> of_term;
      std::ranges::copy_if(ways, std::back_inserter(of_term), [&](const CommitWay& way) { return way.term == term; });
      if (of_term.empty()) continue;
      if (auto finding = commit_for(fleet, pool, group, use, of_term)) propose_commitment(fleet, std::move(*finding), out);
    }
  }
  return out;
}

}  // namespace stint
