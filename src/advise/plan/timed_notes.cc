#include "advise/plan/timed_notes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "advise/find/finder_text.h"
#include "base/counted.h"
#include "base/short_money.h"

namespace stint {
namespace {

struct TrainingPool {
  std::string provider, region, instance_type;
  auto operator<=>(const TrainingPool&) const = default;
};

bool is_training_machine(const NodeFacts& node) { return node.kind == WorkloadKind::kTraining; }

std::map<TrainingPool, NodeGroup> training_on_demand(const FleetView& plan) {
  std::map<TrainingPool, NodeGroup> pools;
  for (const NodeFacts& node : plan.facts.nodes) {
    const PlanNode& now = plan.books.of(node.id);
    const bool on_demand = now.market == Market::kOnDemand || now.market == Market::kUnknown;
    if (is_training_machine(node) && !now.gone && on_demand && !now.provider.empty() && plan.books.hourly(node.id))
      pools[{now.provider, now.region, now.instance_type}].push_back(&node);
  }
  return pools;
}

/// Hours in a row in which the machine was there.
std::vector<int64_t> hours_in_a_row(const NodeFacts& node) {
  std::vector<int64_t> hours;
  bool open = false;
  for (const NodeHour& hour : node.timeline) {
    if (hour.on_s == 0) {
      open = false;
      continue;
    }
    if (!open) hours.push_back(0);
    open = true;
    ++hours.back();
  }
  return hours;
}

/// Of all machines of the group, in the period; none: some stretch is longer than what is sold at once.
std::optional<int64_t> hours_paid(const TimedOffer& offer, const NodeGroup& group) {
  int64_t sum = 0;
  for (const NodeFacts* node : group)
    for (const int64_t stretch : hours_in_a_row(*node)) {
      const auto paid = paid_hours(offer, stretch);
      if (!paid) return std::nullopt;
      sum += *paid;
    }
  return sum;
}

struct BlockCost {
  const TimedOffer* offer = nullptr;
  Money per_month;
};

std::optional<BlockCost> cheapest_block(const FleetView& plan, const TrainingPool& pool, const NodeGroup& group,
                                        std::span<const TimedOffer> offers) {
  std::optional<BlockCost> best;
  for (const TimedOffer& offer : offers) {
    if (offer.market != TimedMarket::kCapacityBlock || offer.provider != pool.provider ||
        offer.instance_type != pool.instance_type || !offer.rate || offer.rate->per_hour().currency() != plan.facts.currency)
      continue;
    const auto hours = hours_paid(offer, group);
    if (!hours) continue;
    const Money cost = plan.facts.months.monthly(scale(offer.rate->per_hour(), *hours, 1));
    const bool is_nearer = best && cost == best->per_month && offer.region == pool.region;
    if (!best || cost < best->per_month || is_nearer) best = BlockCost{&offer, cost};
  }
  return best;
}

std::string block_note(const FleetView& plan, const TrainingPool& pool, const NodeGroup& group, const BlockCost& block) {
  const TimedOffer& offer = *block.offer;
  return fmt::format(
      "capacity blocks, not counted, since no record says on which days any were sold, so no replay can tell whether a run would "
      "have "
      "had one: training on {} × {} for {} a month in this plan would cost {} in whole days, paid at once, "
      "at {} an "
      "hour in {} ({}, {}){}, a rate that AWS sets anew from time to time; look what is sold: aws ec2 "
      "describe-capacity-block-offerings --instance-type {} --instance-count "
      "{} "
      "--capacity-duration-hours {} --region {}",
      group.size(), pool.instance_type, monthly_of(plan, group).to_text(), block.per_month.to_text(),
      short_money(offer.rate->per_hour()), offer.region, offer.source, format_date(offer.as_of),
      offer.region == pool.region ? "" : fmt::format(", another region than {}", pool.region), pool.instance_type, group.size(),
      offer.fewest_hours, offer.region);
}

/// Runs on machines of the group, and how many of them end within what is sold.
struct FlexRuns {
  int64_t all = 0, fit = 0;
};

FlexRuns runs_that_fit(const FleetView& plan, const NodeGroup& group, const TimedOffer& offer) {
  FlexRuns runs;
  const auto is_here = [&](const std::string& name) {
    return std::ranges::any_of(group, [&](const NodeFacts* node) { return node->name == name; });
  };
  for (const stint::Run& run : plan.history.runs) {
    if (!run.started || !run.ended || run.allocations.empty() || !is_here(run.allocations.front().node)) continue;
    ++runs.all;
    if (*run.ended - *run.started <= kHour * offer.most_hours) ++runs.fit;
  }
  return runs;
}

}  // namespace

std::vector<std::string> timed_notes(const FleetView& plan, std::span<const TimedOffer> offers) {
  std::vector<std::string> notes;
  for (const auto& [pool, group] : training_on_demand(plan)) {
    const auto block = cheapest_block(plan, pool, group, offers);
    if (block && block->per_month < monthly_of(plan, group)) notes.push_back(block_note(plan, pool, group, *block));
    for (const TimedOffer& offer : offers) {
      if (offer.market != TimedMarket::kFlexStart || offer.provider != pool.provider) continue;
      const FlexRuns runs = runs_that_fit(plan, group, offer);
      if (runs.fit > 0)
        notes.push_back(
            fmt::format("flex-start, not counted, since no source quotes its price and no record says how long its starts "
                        "waited: {} of {} on {} × {} ended within the {} days that are sold, and would have to bear {} of "
                        "waiting for a start ({}, {})",
                        runs.fit, counted(runs.all, "run"), group.size(), pool.instance_type, offer.most_hours / 24,
                        counted(offer.wait_hours, "hour"), offer.source, format_date(offer.as_of)));
    }
  }
  return notes;
}

}  // namespace stint
