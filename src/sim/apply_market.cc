// Other ways to pay: spot, with the interruptions that come with it, and commitments.
#include <algorithm>

#include "sim/apply_change_parts.h"
#include "sim/faults.h"

namespace stint::sim {
namespace {

/// Adds those that do not meet an outage the same node has already.
void add_outages(Workload& w, const std::vector<Outage>& drawn) {
  std::vector<std::vector<Interval>> known(w.nodes.size());
  for (const Outage& o : w.outages)
    known[o.node.index()].push_back({o.notice, o.up});
  for (const Outage& o : drawn)
    if (std::ranges::none_of(known[o.node.index()], [&](Interval k) { return k.begin < o.up && o.notice < k.end; }))
      w.outages.push_back(o);
}

}  // namespace

Result<Notes> apply_spot(Workload& w, const SwitchMarket& c, const ChangeSettings& settings) {
  if (settings.spot_mean_between == sched::kUnlimited)
    return Notes{"no spot interruptions are drawn: on the spot market more work would be lost than shown"};
  TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w, c.nodes));
  // Only the nodes of this change draw; every node has numbers of its own, whatever the others do.
  std::vector<SimNode> all(w.nodes.size());
  for (const uint32_t n : nodes)
    all[n] = w.nodes[n];
  const FaultModel model{.spot_per_hour = 1 / settings.spot_mean_between.to_hours()};
  const Interval period = {submissions_of(w).begin, horizon_of(w)};
  std::vector<Outage> drawn = draw_outages(model, all, period, settings.seed);
  // Nobody is interrupted where the machine is no longer.
  std::erase_if(drawn, [&](const Outage& o) { return o.notice >= w.nodes[o.node.index()].present_until; });
  add_outages(w, drawn);
  return Notes{
      fmt::format("spot interruptions are drawn (seed {}): one per node every {:.3g} h on average, told {:.0f} s before, "
                  "capacity back after {:.1f} h on average and {:.0f} min to start; assumptions, not measured here",
                  settings.seed, settings.spot_mean_between.to_hours(), model.spot_notice.to_seconds(),
                  model.spot_return_mean.to_hours(), model.provisioning.to_seconds() / 60)};
}

Result<Notes> apply_commit(Workload& w, const Commit& c, const ChangeSettings& settings) {
  const Catalog& catalog = *settings.catalog;
  Commitment commitment{
      .provider = c.provider, .region = c.region, .instance_type = c.instance_type, .count = c.count, .rate = {}};
  const auto is_covered = [&](const SimNode& n) {
    return n.instance_type == c.instance_type && (c.provider.empty() || n.provider == c.provider) &&
           (c.region.empty() || n.region == c.region) && is_on_demand(n.market);
  };
  const auto first = std::ranges::find_if(w.nodes, is_covered);
  if (first == w.nodes.end())
    return invalid("commit: no node is a {} on demand{}{}", c.instance_type, c.region.empty() ? "" : " in ", c.region);
  commitment.provider = first->provider;
  commitment.region = first->region;
  if (c.payment == PaymentOption::kNone) {
    TRY_ASSIGN(const PriceRow price, catalog.price({.provider = commitment.provider,
                                                    .instance_type = c.instance_type,
                                                    .region = commitment.region,
                                                    .market = Market::kReserved,
                                                    .term = c.term}));
    commitment.rate = price.rate;
  } else {
    const auto rows = catalog.price_range(commitment.provider, c.instance_type);
    const auto row = std::ranges::find_if(rows, [&](const PriceRow& p) {
      return p.region == commitment.region && p.market == Market::kReserved && p.term == c.term && p.payment == c.payment;
    });
    if (row == rows.end())
      return invalid("commit: no price of {} in {} for {} ({}) is known: import one with `stint import prices`", c.instance_type,
                     commitment.region, name_of(c.term), name_of(c.payment));
    commitment.rate = row->rate;
  }
  const auto covered = std::ranges::count_if(w.nodes, is_covered);
  Notes notes = {fmt::format("{} × {} at {} an hour, used or not, from the first submission to the end of the replay", c.count,
                             c.instance_type, commitment.rate.per_hour().to_text(4))};
  if (covered < c.count)
    notes.push_back(fmt::format("only {} such machines are there: the rest of the commitment is idle", covered));
  w.commitments.push_back(std::move(commitment));
  return notes;
}

}  // namespace stint::sim
