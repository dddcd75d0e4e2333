// Other ways to pay: spot, with the interruptions that come with it, and commitments.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/counted.h"
#include "catalog/providers/provider.h"
#include "sim/apply_change_parts.h"
#include "sim/faults.h"

namespace stint::sim {
namespace {

/// Those that do not meet an outage the same node has already, nor end just before one.
std::vector<Outage> without_known(const Workload& w, std::vector<Outage> drawn) {
  std::vector<std::vector<Interval>> known(w.nodes.size());
  for (const Outage& o : w.outages)
    known[o.node.index()].push_back({o.notice, o.up});
  std::erase_if(drawn, [&](const Outage& o) {
    return std::ranges::any_of(known[o.node.index()],
                               [&](Interval k) { return k.begin < o.up + kMovingBack && o.notice < k.end; });
  });
  return drawn;
}

/// While spot is away a machine on demand stands in: it starts when the other goes, and when spot is back the work moves there. So each
/// absence becomes two short ones, and the price changes in between.
/// @param before  rates on demand, by `nodes`. @param drawn  by node, then time.
std::vector<Outage> stand_in(Workload& w, const std::vector<uint32_t>& nodes, std::span<const Rate> before,
                             const std::vector<Outage>& drawn, const FaultModel& model) {
  std::vector<Outage> short_ones;
  for (size_t i = 0; i < nodes.size(); ++i) {
    SimNode& node = w.nodes[nodes[i]];
    PriceSeries series{.name = node.node.name + ": spot, or on demand meanwhile", .points = {}};
    for (const Outage& o : drawn) {
      if (o.node.index() != nodes[i]) continue;
      if (!short_ones.empty() && short_ones.back().node == o.node)
        short_ones.back().up = std::min(short_ones.back().up, o.notice);
      const Instant on_demand_from = o.down + model.provisioning;
      if (on_demand_from + model.spot_notice >= o.up) {  // back as soon as anything else could be
        short_ones.push_back(o);
        continue;
      }
      Outage gone = o;
      gone.up = on_demand_from;
      short_ones.push_back(gone);
      short_ones.push_back({.node = o.node,
                            .cause = OutageCause::kSpotInterruption,
                            .notice = o.up - model.spot_notice,
                            .down = o.up,
                            .up = o.up + kMovingBack});
      series.points.push_back({.from = on_demand_from, .rate = before[i]});
      series.points.push_back({.from = o.up, .rate = node.rate});
    }
    if (series.points.empty()) continue;
    node.prices = static_cast<int32_t>(w.prices.size());
    w.prices.push_back(std::move(series));
  }
  return short_ones;
}

/// Jobs that would lose everything, and never ran on nodes that are spot now, stay on nodes that are not interrupted.
void keep_unsaved_jobs_off(Workload& w) {
  const Label stays = {.key = "stint/interrupted", .value = "no"};
  std::set<std::string> spot;
  for (const SimNode& node : w.nodes)
    if (node.market == Market::kSpot) spot.insert(node.node.name);
  const auto named = [&](const std::string& name) { return spot.contains(name); };
  for (SimNode& node : w.nodes) {
    std::erase(node.node.labels, stays);
    if (node.market != Market::kSpot) node.node.labels.push_back(stays);
  }
  // A job that could not be saved when other nodes went to spot may be saved by now.
  std::map<std::pair<sched::RequestId, bool>, sched::RequestId> with_or_without;
  for (SimJob& job : w.jobs) {
    // Where it ran is not known of jobs of a trace: they run anywhere.
    const bool off =
        job.spec.checkpoint.interval == sched::kUnlimited && !job.ran_on.empty() && std::ranges::none_of(job.ran_on, named);
    const auto [at, is_new] = with_or_without.emplace(std::pair(job.spec.request, off), job.spec.request);
    if (is_new) {
      sched::Request request = w.requests[job.spec.request.index()];
      const bool is_off = std::erase(request.node_labels, stays) > 0;
      if (off) request.node_labels.push_back(stays);
      if (is_off != off) at->second = intern_request(w, request);
    }
    job.spec.request = at->second;
  }
}

/// Jobs that ran on the nodes that move, and of which it is not recorded that they save, do so at the interval that is best where any of their
/// machines is lost.
/// @return a sentence, or nothing when there are none.
Notes assume_checkpoints(Workload& w, const SwitchMarket& c, const ChangeSettings& settings) {
  const InterruptionModel assumed;
  const std::set<std::string_view> moved(c.nodes.begin(), c.nodes.end());
  const auto between = [&](const std::string& node) {
    const auto believed = settings.spot_belief_of.find(node);
    if (believed != settings.spot_belief_of.end()) return believed->second;
    const auto own = settings.spot_between_of.find(node);
    return own == settings.spot_between_of.end() ? settings.spot_mean_between : own->second;
  };
  int64_t jobs = 0;
  double shortest_h = 0, longest_h = 0;
  for (SimJob& job : w.jobs) {
    double per_hour = 0;
    for (const std::string& node : job.ran_on)
      if (moved.contains(node) && between(node) != sched::kUnlimited) per_hour += 1 / between(node).to_hours();
    if (per_hour <= 0) continue;
    job.spec.time_limit = sched::kUnlimited;
    if (job.spec.checkpoint.interval != sched::kUnlimited) continue;
    const double hours = best_checkpoint_interval_h(interruption_model(per_hour));
    job.spec.checkpoint = {
        .interval = Duration::from_seconds(3600 * hours), .save = assumed.checkpoint, .restart = assumed.restart};
    shortest_h = jobs == 0 ? hours : std::min(shortest_h, hours);
    longest_h = std::max(longest_h, hours);
    ++jobs;
  }
  if (jobs == 0) return {};
  return {fmt::format(
      "{} of which no record says that they save: assumed to save every {:.2g} to {:.2g} h (Daly), {:.0f} min "
      "each, and to restart "
      "in {:.0f} min",
      counted(jobs, "job"), shortest_h, longest_h, assumed.checkpoint.to_seconds() / 60, assumed.restart.to_seconds() / 60)};
}

}  // namespace

Result<Notes> apply_spot(Workload& w, const SwitchMarket& c, const ChangeSettings& settings, std::span<const Rate> before) {
  TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w, c.nodes));
  Notes notes;
  if (settings.unsaved == UnsavedJobs::kSaveOrKeepOff) {
    notes = assume_checkpoints(w, c, settings);
    keep_unsaved_jobs_off(w);
  }
  if (settings.spot_mean_between == sched::kUnlimited && settings.spot_between_of.empty())
    return Notes{"no spot interruptions are drawn: on the spot market more work would be lost than shown"};
  FaultModel model;
  model.spot_notice = provider_of(w.nodes[nodes.front()].provider).facts().spot_notice;
  const Interval period = {submissions_of(w).begin, horizon_of(w)};
  std::vector<Outage> drawn;
  Duration shortest = sched::kUnlimited;
  Duration longest;
  for (const uint32_t n : nodes) {
    const auto own = settings.spot_between_of.find(w.nodes[n].node.name);
    const Duration between = own == settings.spot_between_of.end() ? settings.spot_mean_between : own->second;
    shortest = std::min(shortest, between);
    longest = std::max(longest, between);
    model.spot_per_hour = between == sched::kUnlimited ? 0 : 1 / between.to_hours();
    const Interval there = {std::max(period.begin, w.nodes[n].present_from), period.end};
    std::ranges::move(draw_interruptions(model, NodeId(n), w.nodes[n].node.name, there, settings.seed),
                      std::back_inserter(drawn));
  }
  // No job is interrupted where the machine is no longer.
  std::erase_if(drawn, [&](const Outage& o) { return o.notice >= w.nodes[o.node.index()].present_until; });
  drawn = without_known(w, std::move(drawn));
  if (settings.spot_gap == SpotGap::kOnDemand) drawn = stand_in(w, nodes, before, drawn, model);
  std::ranges::move(drawn, std::back_inserter(w.outages));
  // How often they come is said with the belief it was drawn from.
  const bool believed = !settings.spot_belief_of.empty();
  const std::string often =
      believed ? "as often as is believed of each place"
               : fmt::format("one per node every {} h on average",
                             shortest == longest ? fmt::format("{:.3g}", shortest.to_hours())
                                                 : fmt::format("{:.3g} to {:.3g}", shortest.to_hours(), longest.to_hours()));
  notes.push_back(fmt::format(
      "spot interruptions are drawn (seed {}): {}, with {:.0f} s notice, capacity back after {:.1f} h on average and {:.0f} min "
      "to "
      "start{}; {}assumptions, not measured here",
      settings.seed, often, model.spot_notice.to_seconds(), model.spot_return_mean.to_hours(),
      model.provisioning.to_seconds() / 60, settings.spot_gap == SpotGap::kOnDemand ? ", the machine on demand meanwhile" : "",
      believed ? "but for how often they come, " : ""));
  return notes;
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

Result<Notes> apply_savings_plan(Workload& w, const SavingsPlan& c) {
  SpendPlan plan{.provider = c.provider, .committed = Rate::per_hour(c.per_hour), .rates = {}};
  for (const SavingsPlan::TypeRate& rate : c.rates)
    plan.rates.push_back({rate.region, rate.instance_type, Rate::per_hour(rate.per_hour)});
  const auto covered = std::ranges::count_if(w.nodes, [&](const SimNode& n) { return plan_rate(plan, n).has_value(); });
  w.spend_plans.push_back(std::move(plan));
  // Of several, the same one pays first in whatever order they were bought.
  const auto key = [](const SpendPlan& p) {
    std::vector<std::tuple<std::string, std::string, int64_t>> rates;
    for (const SpendPlan::TypeRate& type : p.rates)
      rates.emplace_back(type.region, type.instance_type, type.rate.per_hour().count_nanos());
    return std::tuple(p.provider, p.committed.per_hour().count_nanos(), rates);
  };
  std::ranges::stable_sort(w.spend_plans, {}, key);
  if (covered == 0)
    return Notes{fmt::format(
        "the savings plan has a rate below the price on demand for no node on demand at {}: all of it is idle", c.provider)};
  return Notes{
      fmt::format("a savings plan of {} an hour, used or not, from the first submission to the end of the replay, for {} "
                  "nodes that it has rates for",
                  c.per_hour.to_text(4), covered)};
}

}  // namespace stint::sim
