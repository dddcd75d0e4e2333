#include "advise/commit/renewals.h"

#include <algorithm>

#include "advise/commit/commit_pools.h"
#include "advise/find/finder_text.h"
#include "base/short_money.h"

namespace stint {
namespace {

std::string renewal_note(const FleetView& fleet, const OwnedInstances& owned, Instant now) {
  const std::string what = fmt::format("the commitment to {} × {}{}{}", owned.count, owned.instance_type,
                                       owned.region.empty() ? "" : " in ", owned.region);
  if (owned.until <= now)
    return fmt::format("{} ended on {}: its machines are paid on demand if the bill says nothing else", what,
                       format_date(owned.until));
  const std::string ends =
      fmt::format("{} ends on {}, in {:.0f} days", what, format_date(owned.until), (owned.until - now).to_hours() / 24);
  NodeGroup group;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    if (!plan.gone && plan.market == Market::kReserved && !plan.market_changed && plan.instance_type == owned.instance_type &&
        (owned.region.empty() || plan.region == owned.region))
      group.push_back(&node);
  }
  if (group.empty()) return ends + ": no machine of the fleet runs on it, so let it end";
  const PlanNode& first = fleet.books.of(group.front()->id);
  const auto* list = fleet.prices.find({first.provider, first.instance_type, first.region}, Market::kOnDemand);
  const std::vector<CommitWay> ways = ways_to_commit(fleet.prices.catalog(), first.provider, first.region, first.instance_type,
                                                     fleet.facts.currency, fleet.longest_term);
  if (list == nullptr || ways.empty())
    return fmt::format("{}: no {} price of it is known there: import one with `stint import prices`", ends,
                       list == nullptr ? "on-demand" : "reserved");
  PortfolioType use{
      .name = first.instance_type, .on_demand = list->hourly, .plan_rate = {}, .offers = {}, .owned = {}, .demand = {}};
  use.demand = instances_in_use(fleet, group);
  for (int64_t& demand : use.demand)
    demand = std::min(demand, owned.count);
  for (const CommitWay& way : ways)
    use.offers.push_back(way.offer);
  const auto planned = plan_portfolio(std::span(&use, 1));
  if (!planned.ok()) return fmt::format("{}: {}", ends, planned.error().message);
  const PortfolioChoice& choice = planned->choices.front();
  if (choice.count == 0)
    return fmt::format("{}: let it end, its machines are not in use for long enough for any term to pay", ends);
  const Money hourly_saving = scale(planned->all_on_demand - planned->total, 1, std::ssize(use.demand));
  return fmt::format(
      "{}: renew {} of them ({}, {} an hour each) and let {} end; from then on that saves {} an hour against on demand", ends,
      choice.count, ways[*choice.offer].offer.name, short_money(choice.per_hour), owned.count - choice.count,
      short_money(hourly_saving));
}

}  // namespace

std::vector<std::string> renewal_notes(const FleetView& fleet, const std::vector<OwnedInstances>& owned, Instant now) {
  std::vector<std::string> notes;
  for (const OwnedInstances& o : owned)
    notes.push_back(renewal_note(fleet, o, now));
  return notes;
}

}  // namespace stint
