#include "sim/regions_protocol.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "sched/spot/regions_stint.h"
#include "sched/spot/regions_uniform.h"
#include "sim/regions_optimum.h"

namespace stint::sim {
namespace {

constexpr int64_t kMostCheckpointGb = 1'000'000;
constexpr Money kMostTransferPerGb = Money::units(1'000);

Result<std::vector<const ZonePrice*>> prices_of(const std::vector<std::string>& zones, std::span<const ZonePrice> prices) {
  std::vector<const ZonePrice*> found;
  for (const std::string& zone : zones) {
    const auto at = std::find_if(prices.begin(), prices.end(), [&](const ZonePrice& p) { return p.zone == zone; });
    if (at == prices.end()) return invalid("no prices of zone `{}`: add it, or leave the zone out", zone);
    if (std::find(found.begin(), found.end(), &*at) != found.end()) return invalid("zone `{}` is named twice", zone);
    found.push_back(&*at);
  }
  return found;
}

Result<Money> fetch_cost(const ZonePrice& from, const ZonePrice& to, const TransferPrices& transfers, int64_t gb) {
  if (from.region == to.region) return Money();
  const auto at = transfers.find({from.region, to.region});
  if (at == transfers.end()) return invalid("no price of a transfer from {} to {}: add it", from.region, to.region);
  if (at->second > kMostTransferPerGb)
    return invalid("a transfer from {} to {} costs {} per GB, more than {}", from.region, to.region, at->second.to_decimal(),
                   kMostTransferPerGb.to_decimal());
  return scale(at->second, gb, 1);
}

}  // namespace

Result<RegionsChoice> parse_regions_choice(std::string_view name) {
  const auto at = std::find(kRegionsChoices.begin(), kRegionsChoices.end(), name);
  if (at == kRegionsChoices.end()) return invalid("policy `{}`: expected {}", name, fmt::join(kRegionsChoices, ", "));
  return static_cast<RegionsChoice>(at - kRegionsChoices.begin());
}

Result<sched::RegionsTask> make_regions_task(const RegionsSetup& setup, int64_t tick_s, std::span<const ZonePrice> prices,
                                             const TransferPrices& transfers) {
  if (!(setup.ratio >= 1) || setup.ratio > 1e6)
    return invalid("ratio {}: expected the deadline over the work, 1 or more", setup.ratio);
  if (setup.checkpoint_gb < 0 || setup.checkpoint_gb > kMostCheckpointGb)
    return invalid("a checkpoint of {} GB: expected 0 to {}", setup.checkpoint_gb, kMostCheckpointGb);
  TRY_ASSIGN(const std::vector<const ZonePrice*> found, prices_of(setup.zones, prices));
  sched::RegionsTask task{
      .tick_s = tick_s, .deadline_ticks = setup.deadline_ticks, .changeover_s = setup.changeover_s, .probe_s = setup.probe_s};
  // As the published runs compute it: where steps meet the line from start to deadline, the last bit decides.
  task.work_s = static_cast<double>(setup.deadline_ticks * tick_s) / 3600 / setup.ratio * 3600;
  std::map<std::string, uint32_t> regions;
  for (const ZonePrice* price : found) {
    const uint32_t next = static_cast<uint32_t>(regions.size());
    task.zones.push_back({price->spot, price->on_demand, regions.emplace(price->region, next).first->second});
  }
  for (const ZonePrice* from : found)
    for (const ZonePrice* to : found) {
      TRY_ASSIGN(const Money cost, fetch_cost(*from, *to, transfers, setup.checkpoint_gb));
      task.fetch_costs.push_back(cost);
    }
  TRY(task.check());
  return task;
}

Result<ZoneCapacity> zone_capacity(const ZonesTrace& trace, std::span<const std::string> zones, int64_t start_tick,
                                   int64_t ticks) {
  ZoneCapacity capacity;
  for (const std::string& zone : zones) {
    const auto at = std::find_if(trace.zones.begin(), trace.zones.end(), [&](const ZoneTrace& z) { return z.zone == zone; });
    if (at == trace.zones.end()) return invalid("no column for zone `{}`", zone);
    const int64_t there = std::ssize(at->available);
    if (start_tick < 0 || ticks < 0 || start_tick > there || ticks > there - start_tick)
      return invalid("a window of {} ticks from tick {} does not lie within the {} of the trace", ticks, start_tick, there);
    capacity.push_back(std::span(at->available).subspan(static_cast<size_t>(start_tick), static_cast<size_t>(ticks)));
  }
  return capacity;
}

sched::RegionsTask only_zone(const sched::RegionsTask& task, size_t zone) {
  sched::RegionsTask one = task;
  one.zones = {task.zones[zone]};
  one.fetch_costs = {Money()};
  return one;
}

Result<RegionsRun> run_regions(RegionsChoice choice, const sched::RegionsTask& task, const ZoneCapacity& available) {
  const auto with = [&](sched::RegionsPolicy&& policy) { return replay_regions(task, available, policy); };
  switch (choice) {
    case RegionsChoice::kUp: {
      CHECK(task.zones.size() == 1, "UP in {} zones", task.zones.size());
      sched::UniformOneZone policy(task, available.front());
      return replay_regions(task, available, policy, SafetyNet::kNo);
    }
    case RegionsChoice::kUpS: return with(sched::UniformSpot(task));
    case RegionsChoice::kUpA: return with(sched::UniformAvailability(task));
    case RegionsChoice::kUpAp: return with(sched::UniformAvailabilityPrice(task));
    case RegionsChoice::kOptimal: return replay_regions_optimum(task, available);
    case RegionsChoice::kStint: return with(sched::StintRegions(task));
  }
  return invalid("no such policy");
}

Money published_cost(const RegionsRun& run, RegionsChoice choice, const sched::RegionsTask& task) {
  const Money whole = cost_of(run, task);
  return choice == RegionsChoice::kUp ? whole : whole - run.last_tick;
}

}  // namespace stint::sim
