#include "sched/spot/regions.h"

#include <cmath>

namespace stint::sched {
namespace {

constexpr int64_t kMostSeconds = int64_t{10} * 366 * 24 * 3600;
constexpr int64_t kMostTicks = 100'000;
constexpr size_t kMostZones = 1'000;
constexpr Rate kMostRate = Rate::per_hour(Money::units(100'000));

bool priced(Rate rate) { return rate.per_hour().count_nanos() > 0 && rate <= kMostRate; }

}  // namespace

int64_t RegionsTask::ticks_with_changeovers(double work_left_s, int changeovers) const {
  return static_cast<int64_t>(
      std::ceil((work_left_s + static_cast<double>(changeovers * changeover_s)) / static_cast<double>(tick_s)));
}

Status RegionsTask::check() const {
  if (zones.empty() || zones.size() > kMostZones) return invalid("{} zones: expected 1 to {}", zones.size(), kMostZones);
  if (fetch_costs.size() != zones.size() * zones.size())
    return invalid("{} transfer prices for {} zones: expected one for each pair", fetch_costs.size(), zones.size());
  for (const RegionZone& zone : zones)
    if (!priced(zone.spot) || !priced(zone.on_demand))
      return invalid("prices must be above 0 and at most {} an hour", kMostRate.per_hour().to_decimal());
  for (const Money& cost : fetch_costs)
    if (cost.count_nanos() < 0) return invalid("a transfer costs {}: expected 0 or more", cost.to_decimal());
  if (tick_s <= 0 || deadline_ticks <= 0 || deadline_ticks > kMostTicks || tick_s > kMostSeconds / deadline_ticks)
    return invalid("{} ticks of {} s: expected 1 to {} ticks and no more than ten years", deadline_ticks, tick_s, kMostTicks);
  if (!(work_s > 0) || !(work_s <= deadline_s()))
    return invalid("{} s of work do not fit {} s before the deadline", work_s, deadline_s());
  if (changeover_s < 0 || changeover_s > kMostSeconds || probe_s < 0 || probe_s > tick_s)
    return invalid("a changeover of {} s, a probe of {} s: expected 0 or more, and a probe no longer than a tick of {} s",
                   changeover_s, probe_s, tick_s);
  if (ticks_with_changeovers(work_s, 1) > deadline_ticks)
    return invalid("{} s of work and a changeover of {} s do not fit {} s before the deadline, even on on-demand: give more time",
                   work_s, changeover_s, deadline_s());
  return {};
}

bool RegionsSafetyNet::takes_over(const RegionsMoment& now) const {
  return task_.ticks_with_changeovers(now.work_left_s, 1) >= task_.deadline_ticks - now.tick;
}

RegionsAct RegionsSafetyNet::act(const RegionsMoment& now) const {
  if (now.held == SpotTake::kOnDemand) return {};
  const size_t zone = now.held == SpotTake::kSpot ? now.zone : cheapest_on_demand(task_, now);
  return {RegionsAct::Kind::kOnDemand, zone};
}

size_t cheapest_on_demand(const RegionsTask& task, const RegionsMoment& now) {
  size_t best = 0;
  double least = 0;
  for (size_t z = 0; z < task.zones.size(); ++z) {
    double cost = task.zones[z].on_demand.per_hour().to_double() * now.work_left_s / 3600;
    if (now.checkpointed) cost += task.fetch_cost(*now.checkpointed, z).to_double();
    if (z > 0 && cost >= least) continue;
    best = z;
    least = cost;
  }
  return best;
}

}  // namespace stint::sched
