#include "sim/faults.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace stint::sim {
namespace {

constexpr double kMaxDrawSeconds = 1e9;  // some 30 years: later than any replay, and far from overflow

Duration positive(double seconds) {
  return std::max(Duration::from_seconds(std::min(seconds, kMaxDrawSeconds)), Duration::nanoseconds(1));
}

// The first of the competing causes, counted from when the node came up.
struct Fate {
  OutageCause cause = OutageCause::kNodeFailure;
  Duration after = sched::kUnlimited;
};

void consider(Fate& fate, OutageCause cause, Duration after) {
  if (after < fate.after) fate = {cause, after};
}

Fate draw_fate(const FaultModel& model, const SimNode& node, Prng& prng) {
  Fate fate;
  if (model.node_mtbf != sched::kUnlimited)
    consider(fate, OutageCause::kNodeFailure, draw_weibull(prng, model.node_mtbf, model.node_shape));
  if (model.gpu_mtbf != sched::kUnlimited && node.node.gpus > 0)
    consider(fate, OutageCause::kGpuFailure,
             draw_exponential(prng, Duration::nanoseconds(model.gpu_mtbf.count_ns() / node.node.gpus)));
  if (model.spot_per_hour > 0 && node.market == Market::kSpot)
    consider(fate, OutageCause::kSpotInterruption, draw_exponential(prng, Duration::from_seconds(3600 / model.spot_per_hour)));
  return fate;
}

}  // namespace

Duration draw_exponential(Prng& prng, Duration mean) { return positive(-mean.to_seconds() * std::log(1 - prng.uniform())); }

Duration draw_weibull(Prng& prng, Duration mean, double shape) {
  CHECK(shape > 0, "Weibull shape {}", shape);
  const double scale_s = mean.to_seconds() / std::tgamma(1 + 1 / shape);
  return positive(scale_s * std::pow(-std::log(1 - prng.uniform()), 1 / shape));
}

std::vector<Outage> draw_outages(const FaultModel& model, std::span<const SimNode> nodes, Interval period, uint64_t seed) {
  std::vector<Outage> outages;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    Prng prng = Prng(seed).fork(n + 1);
    Instant up = std::max(period.begin, nodes[n].present_from);
    for (;;) {
      const Fate fate = draw_fate(model, nodes[n], prng);
      if (fate.after == sched::kUnlimited || fate.after >= period.end - up) break;
      Outage outage;
      outage.node = NodeId(n);
      outage.cause = fate.cause;
      outage.notice = outage.down = up + fate.after;
      if (fate.cause == OutageCause::kSpotInterruption) {
        outage.down = outage.notice + model.spot_notice;
        outage.up = outage.down + draw_exponential(prng, model.spot_return_mean) + model.provisioning;
      } else {
        outage.up = outage.down + draw_exponential(prng, model.repair_mean);
      }
      outages.push_back(outage);
      up = outage.up;
      if (up >= period.end) break;
    }
  }
  return outages;
}

std::vector<Outage> draw_interruptions(const FaultModel& model, NodeId node, std::string_view identity, Interval period,
                                       uint64_t seed) {
  std::vector<Outage> outages;
  if (model.spot_per_hour <= 0) return outages;
  Fnv1a name;
  name.update(identity);
  const Prng own = Prng(seed).fork(name.digest());
  const Duration between = Duration::from_seconds(3600 / model.spot_per_hour);
  Instant up = period.begin;
  for (Instant hour = period.begin.hour_start(); hour < period.end; hour = hour + kHour) {
    Prng prng = own.fork(static_cast<uint64_t>(hour.hour_index()));
    for (Instant at = hour + draw_exponential(prng, between); at < hour + kHour; at = at + draw_exponential(prng, between)) {
      const Duration away = draw_exponential(prng, model.spot_return_mean) + model.provisioning;
      if (at < up || at >= period.end) continue;
      outages.push_back({.node = node,
                         .cause = OutageCause::kSpotInterruption,
                         .notice = at,
                         .down = at + model.spot_notice,
                         .up = at + model.spot_notice + away});
      up = outages.back().up;
    }
  }
  return outages;
}

}  // namespace stint::sim
