// A savings plan, after commitments to instances: for what still runs on demand, whatever its type.
//
// The catalogue has no prices of savings plans: rates are what the user says (SavingsPlanOffer). What the pools (a type in a
// region) of a provider have on demand in each hour, as the changes before left it, goes to the sweep of savings_plan.h, which finds the
// least cost exactly. Terms are alternatives, as with commitments: the longest comes first, at a higher risk.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "advise/commit/savings_plan.h"
#include "advise/commit/savings_plan_hours.h"
#include "advise/find/finder_text.h"
#include "advise/thresholds.h"
#include "base/counted.h"
#include "base/short_money.h"

namespace stint {
namespace {

constexpr int64_t kSmallestStep = 1'000'000;  // a thousandth of a unit, as AWS sells them

bool may_be_covered(const FleetView& fleet, const NodeFacts& node) {
  const PlanNode& plan = fleet.books.of(node.id);
  const bool on_demand = plan.market == Market::kOnDemand || plan.market == Market::kUnknown || plan.committed;
  return !plan.gone && !plan.in_savings_plan && on_demand && fleet.books.open_hourly(node.id).has_value();
}

/// A type in a region.
struct SavingsPool {
  NodeGroup nodes;
  SavingsPlanType type;
};

/// Price on demand, and whole instances by the hour.
SavingsPlanType use_of(const FleetView& fleet, const NodeGroup& group) {
  std::vector<int64_t> seconds(fleet.facts.hour_count, 0);
  Money paid = Money::nanos(0, fleet.facts.currency);
  for (const NodeFacts* node : group) {
    const std::vector<uint16_t>& open = fleet.books.of(node->id).open_s();
    paid += scale(*fleet.books.open_hourly(node->id), std::accumulate(open.begin(), open.end(), int64_t{0}), 3600);
    for (size_t h = 0; h < seconds.size(); ++h)
      seconds[h] += open[h];
  }
  SavingsPlanType type{.on_demand = {}, .plan_rate = {}, .demand = {}};
  type.on_demand = scale(paid, 3600, std::accumulate(seconds.begin(), seconds.end(), int64_t{0}));
  for (const int64_t s : seconds)
    type.demand.push_back(s / 3600);
  return type;
}

/// What the offer asks for an instance; none when it does not say.
std::optional<Money> rate_in(const SavingsPlanOffer& offer, const std::string& region, const std::string& type, Money on_demand) {
  for (const SavingsPlan::TypeRate& rate : offer.rates)
    if (rate.instance_type == type && (rate.region.empty() || rate.region == region)) return rate.per_hour;
  if (offer.discount_pct) return scale(on_demand, 100 - *offer.discount_pct, 100);
  return std::nullopt;
}

/// What the plan rests on, and when it would be a loss.
void explain(Finding& f, const FleetView& fleet, const SavingsPlanOffer& offer, const SavingsPlan& plan,
             const std::vector<NodeId>& nodes) {
  Money before = Money::nanos(0, fleet.facts.currency), used = before, beyond = before;
  for (const SavingsPlanHour& hour : hours_under(fleet.books, plan, nodes)) {
    before += hour.before;
    used += hour.used;
    beyond += hour.beyond;
  }
  const Money committed = scale(plan.per_hour, static_cast<int64_t>(fleet.facts.hour_count), 1);
  const BillingMonths& months = fleet.facts.months;
  const double worth = (before - beyond).to_double();
  const double break_even = worth > 0 ? 100 * committed.to_double() / worth : 100;
  f.evidence.push_back(
      {"on demand now", fmt::format("{}/month on {}", months.monthly(before).to_text(), counted(plan.nodes.size(), "machine"))});
  f.evidence.push_back({"rates", offer.discount_pct ? fmt::format("{} % below on-demand, as given", *offer.discount_pct)
                                                    : std::string("of each type, as given")});
  f.arithmetic.push_back(fmt::format("committed: {} an hour, {}/month, of which {} is used", short_money(plan.per_hour),
                                     months.monthly(committed).to_text(),
                                     percent(100 * used.to_double() / committed.to_double())));
  f.arithmetic.push_back(fmt::format("still on demand: {}/month", months.monthly(beyond).to_text()));
  f.caveats.push_back(fmt::format("paid whether used or not: it loses money when what it covers falls below {} of today's use",
                                  percent(break_even)));
  if (plan.payment == PaymentOption::kAllUpfront) {
    const int64_t hours = kHoursPerYear * (plan.term == CommitmentTerm::kThreeYears ? 3 : 1);
    f.caveats.push_back(fmt::format("{} are paid at once", scale(plan.per_hour, hours, 1).to_text()));
  }
  f.caveats.push_back("the catalogue has no prices of savings plans: the rates are those given with --savings-plan");
}

std::optional<Finding> plan_for(const FleetView& fleet, const SavingsPlanOffer& offer) {
  std::map<std::pair<std::string, std::string>, SavingsPool> pools;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    if (plan.provider == offer.provider && !plan.instance_type.empty() && may_be_covered(fleet, node))
      pools[{plan.region, plan.instance_type}].nodes.push_back(&node);
  }
  SavingsPlan plan{
      .provider = offer.provider, .per_hour = {}, .term = offer.term, .payment = offer.payment, .rates = {}, .nodes = {}};
  std::vector<SavingsPlanType> types;
  std::vector<NodeId> ids;
  for (auto& [where, pool] : pools) {
    pool.type = use_of(fleet, pool.nodes);
    const auto rate = rate_in(offer, where.first, where.second, pool.type.on_demand);
    if (!rate || rate->currency() != fleet.facts.currency || rate->count_nanos() <= 0 || *rate >= pool.type.on_demand) continue;
    pool.type.plan_rate = *rate;
    plan.rates.push_back({where.first, where.second, *rate});
    for (const NodeFacts* node : pool.nodes) {
      plan.nodes.push_back(node->name);
      ids.push_back(node->id);
    }
    types.push_back(std::move(pool.type));
  }
  if (types.empty() || !check_savings_types(types).ok()) return std::nullopt;
  const int64_t best = SavingsPlanSweep(types).best().count_nanos();
  plan.per_hour = Money::nanos(best / kSmallestStep * kSmallestStep, fleet.facts.currency);
  if (plan.per_hour.is_zero()) return std::nullopt;
  const bool three_years = plan.term == CommitmentTerm::kThreeYears;
  Finding f;
  f.title = fmt::format("Savings plan of {} an hour at {} for {}", short_money(plan.per_hour), plan.provider,
                        three_years ? "three years" : "a year");
  f.confidence = Level::kMedium;
  f.risk = three_years ? Level::kHigh : Level::kMedium;
  f.effort = Level::kLow;
  explain(f, fleet, offer, plan, ids);
  f.change = std::move(plan);
  return f;
}

}  // namespace

Proposals find_savings_plan(const FleetView& fleet) {
  std::vector<SavingsPlanOffer> offers(fleet.savings_plans.begin(), fleet.savings_plans.end());
  std::ranges::stable_sort(offers, std::greater(), &SavingsPlanOffer::term);
  Proposals out;
  for (const SavingsPlanOffer& offer : offers)
    if (auto finding = plan_for(fleet, offer)) propose_commitment(fleet, std::move(*finding), out);
  return out;
}

}  // namespace stint
