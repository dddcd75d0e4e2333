// The protocol of SkyNomad's evaluation (NSDI 2027): windows of a recorded trace, a task in them, a policy, and what it cost.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/region_trace.h"
#include "sim/regions_replay.h"

namespace stint::sim {

enum class RegionsChoice : uint8_t { kUp, kUpS, kUpA, kUpAp, kOptimal, kStint };
inline constexpr std::array<std::string_view, 6> kRegionsChoices = {"up", "up-s", "up-a", "up-ap", "optimal", "stint"};
/// @return error naming the choices.
Result<RegionsChoice> parse_regions_choice(std::string_view name);

struct RegionsSetup {
  std::vector<std::string> zones;  ///< in the order that decides between equals
  double ratio = 1;                ///< deadline over work, 1 or more
  int64_t deadline_ticks = 311;
  int64_t changeover_s = 720;
  int64_t checkpoint_gb = 50;
  int64_t probe_s = 60;
};

/// @return error when a zone has no price, a pair of regions no transfer price, a zone stands twice, or the task cannot be done.
Result<sched::RegionsTask> make_regions_task(const RegionsSetup& setup, int64_t tick_s, std::span<const ZonePrice> prices,
                                             const TransferPrices& transfers);

/// @param trace  outlives what is returned. @return error when a zone is not in it, or it ends before the window does.
Result<ZoneCapacity> zone_capacity(const ZonesTrace& trace, std::span<const std::string> zones, int64_t start_tick,
                                   int64_t ticks);

/// The part of a task and of its zones' capacity that is about one zone: UP knows no more.
sched::RegionsTask only_zone(const sched::RegionsTask& task, size_t zone);

/// @param choice  kUp: the task has one zone.
Result<RegionsRun> run_regions(RegionsChoice choice, const sched::RegionsTask& task, const ZoneCapacity& available);

/// As published: without the tick in which the work was done, with its probes and transfer. UP's costs are published whole.
Money published_cost(const RegionsRun& run, RegionsChoice choice, const sched::RegionsTask& task);

}  // namespace stint::sim
