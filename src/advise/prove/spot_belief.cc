#include "advise/prove/spot_belief.h"

#include <fmt/format.h>

#include "advise/node_facts.h"

namespace stint {
namespace {

constexpr double kPriorHours = 100;

SpotPlace place_of(const NodeFacts& node) { return {node.provider, node.region, node.zone, node.instance_type}; }

}  // namespace

InterruptionRate assumed_interruptions() {
  return InterruptionRate::prior(1 / InterruptionModel().mean_between.to_hours(), kPriorHours);
}

SpotBelief::SpotBelief(const History& history, const std::vector<NodeFacts>& nodes) {
  std::map<std::string_view, const NodeFacts*> spot;
  for (const NodeFacts& node : nodes) {
    if (node.market != Market::kSpot) continue;
    spot.emplace(node.name, &node);
    seen_[place_of(node)].hours += node.hours;
  }
  for (const Run& run : history.runs) {
    if (run.state != RunState::kPreempted && run.state != RunState::kNodeFail) continue;
    for (const RunAllocation& a : run.allocations)
      if (const auto node = spot.find(a.node); node != spot.end()) {
        ++seen_[place_of(*node->second)].interruptions;
        break;
      }
  }
}

SpotSeen SpotBelief::seen(const SpotPlace& place) const {
  const auto it = seen_.find(place);
  return it == seen_.end() ? SpotSeen() : it->second;
}

InterruptionRate SpotBelief::rate(const SpotPlace& place, const InterruptionRate& prior) const {
  const SpotSeen there = seen(place);
  return prior.after(there.interruptions, there.hours);
}

std::string belief_text(const InterruptionRate& rate, const SpotSeen& seen) {
  const std::string basis = seen.hours > 0
                                ? fmt::format("{} seen in {:.0f} instance-hours on spot there, and a prior of one in {:.0f} h",
                                              seen.interruptions, seen.hours, 1 / assumed_interruptions().mean())
                                : "assumed: nothing was on spot there";
  return fmt::format("an interruption every {:.3g} h ({:.2g} to {:.2g} h with 80 % probability; {})", 1 / rate.mean(),
                     1 / rate.quantile(0.9), 1 / rate.quantile(0.1), basis);
}

}  // namespace stint
