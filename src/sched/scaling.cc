#include "sched/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace stint::sched {

namespace {

constexpr double kLatencyBand = 1.1;
constexpr double kMostNodes = 1e6;

int32_t whole(double nodes) { return static_cast<int32_t>(std::ceil(std::clamp(nodes, 0.0, kMostNodes) - 1e-9)); }

}  // namespace

std::string_view name_of(ScalingReason r) {
  constexpr std::array<std::string_view, 10> kNames = {"steady",     "utilisation", "queue",   "latency", "prediction",
                                                       "own metric", "idle",        "minimum", "maximum", "cooldown"};
  return kNames[static_cast<size_t>(r)];
}

Scaler::Scaler(const ScalingRules& rules, int32_t nodes) : rules_(rules) {
  CHECK(rules.min_nodes >= 0 && rules.min_nodes <= rules.max_nodes, "scaling between {} and {} nodes", rules.min_nodes,
        rules.max_nodes);
  CHECK(rules.target_utilization > 0 && rules.target_utilization <= 1, "target utilisation {}", rules.target_utilization);
  CHECK(rules.up_band > 1 && rules.down_band < 1 && rules.down_band >= 0, "bands {} and {}", rules.down_band, rules.up_band);
  CHECK(rules.waiting_gpus_per_node > 0 && nodes >= 0, "{} waiting GPUs a node, {} nodes", rules.waiting_gpus_per_node, nodes);
}

Scaler::Wish Scaler::strongest(int32_t nodes, const ScalingSignals& s) const {
  Wish wish{.nodes = s.busy_nodes, .reason = ScalingReason::kSteady};
  // What waits, and what is slow, was measured on the nodes that are ready: counting those that start would ask twice.
  const int32_t ready = std::max(0, nodes - s.starting_nodes);
  const auto ask = [&](int32_t wanted, ScalingReason reason) {
    if (wanted > wish.nodes) wish = {wanted, reason};
  };
  if (s.utilization) {
    const double used = *s.utilization, target = rules_.target_utilization;
    const bool outside = used > target * rules_.up_band || used < target * rules_.down_band;
    // Inside the band the pool is right as it is.
    ask(outside ? whole(ready * used / target) : nodes, outside ? ScalingReason::kUtilization : ScalingReason::kSteady);
  }
  if (s.waiting_gpus > 0)
    ask(ready + whole(static_cast<double>(s.waiting_gpus) / rules_.waiting_gpus_per_node), ScalingReason::kQueue);
  if (s.latency_p99 && rules_.latency_target) {
    const double ratio = s.latency_p99->to_seconds() / rules_.latency_target->to_seconds();
    if (ratio > kLatencyBand) ask(std::max(ready + 1, whole(ready * ratio)), ScalingReason::kLatency);
    // Close to the promise nothing is taken away.
    else if (ratio > rules_.down_band)
      ask(nodes, ScalingReason::kSteady);
  }
  if (s.predicted_nodes) ask(whole(*s.predicted_nodes), ScalingReason::kPrediction);
  if (s.custom_nodes) ask(whole(*s.custom_nodes), ScalingReason::kCustom);
  return wish;
}

ScalingDecision Scaler::step(Instant now, int32_t nodes, const ScalingSignals& signals) {
  Wish wish = strongest(nodes, signals);
  ScalingDecision decision{.nodes = nodes, .reason = wish.reason, .asked = wish.nodes};

  const bool idle = signals.busy_nodes == 0 && signals.waiting_gpus == 0 && wish.nodes <= nodes;
  if (!idle)
    idle_since_.reset();
  else if (!idle_since_)
    idle_since_ = now;

  if (wish.nodes > rules_.max_nodes) wish = {rules_.max_nodes, ScalingReason::kMaximum};
  if (wish.nodes < rules_.min_nodes) wish = {rules_.min_nodes, ScalingReason::kMinimum};

  if (wish.nodes < nodes) {
    low_wish_ = low_since_ ? std::max(low_wish_, wish.nodes) : wish.nodes;
    if (!low_since_) low_since_ = now;
  } else {
    low_since_.reset();
  }

  if (wish.nodes > nodes) {
    // Below the minimum there is nothing to wait for.
    if (grown_ && now - *grown_ < rules_.up_cooldown && nodes >= rules_.min_nodes) {
      decision.reason = ScalingReason::kCooldown;
      return decision;
    }
    grown_ = now;
    return {wish.nodes, wish.reason, decision.asked};
  }
  if (wish.nodes == nodes) {
    decision.reason = wish.reason;
    return decision;
  }
  const bool long_idle = idle_since_ && now - *idle_since_ >= rules_.idle_grace;
  const Instant quiet_from = std::max({*low_since_, grown_.value_or(*low_since_), shrunk_.value_or(*low_since_)});
  if (!long_idle && now - quiet_from < rules_.down_cooldown) {
    decision.reason = ScalingReason::kCooldown;
    return decision;
  }
  const int32_t to = long_idle ? std::max(rules_.min_nodes, wish.nodes) : std::max(low_wish_, rules_.min_nodes);
  // One node is kept for work to come until the pool has been idle for its whole grace.
  const int32_t floor = !long_idle && rules_.max_nodes > 0 ? std::max(1, rules_.min_nodes) : rules_.min_nodes;
  decision.nodes = std::min(nodes, std::max(to, floor));
  if (decision.nodes == nodes) return decision;
  decision.reason = long_idle ? ScalingReason::kIdle : wish.reason;
  shrunk_ = now;
  low_since_.reset();
  return decision;
}

}  // namespace stint::sched
