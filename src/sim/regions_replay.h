// A task with a deadline replayed on the recorded spot capacity of many zones.
//
// The world of sched/spot/regions.h: it lets ticks pass, bills them, takes machines away where a zone has no more capacity, and
// answers what a policy asks for. Whole ticks are billed. A machine that starts in a tick spends it in its changeover.
// Source: the protocol of SkyNomad (NSDI 2027).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/money.h"
#include "sched/spot/regions.h"

namespace stint::sim {

/// A byte per tick for each zone of a task, in the task's order; 0 = no spot capacity.
using ZoneCapacity = std::vector<std::span<const uint8_t>>;

struct RegionsRun {
  struct Seconds {
    int64_t spot = 0;
    int64_t on_demand = 0;
    int64_t probes = 0;
    friend bool operator==(const Seconds&, const Seconds&) = default;
  };
  std::vector<Seconds> billed;  ///< by zone
  Money transfers;
  Money last_tick;         ///< cost of the tick in which the work was done
  int64_t migrations = 0;  ///< a machine worked in another zone than the one before it
  int64_t launches = 0;
  int64_t ticks = 0;  ///< until the work was done, or the deadline
  bool late = false;

  friend bool operator==(const RegionsRun&, const RegionsRun&) = default;
};

/// All that the run was billed; one rounding per zone and market.
Money cost_of(const RegionsRun& run, const sched::RegionsTask& task);

enum class SafetyNet : uint8_t { kYes, kNo };

/// @param task       passes check().
/// @param available  for each zone at least as many ticks as there are before the deadline.
RegionsRun replay_regions(const sched::RegionsTask& task, const ZoneCapacity& available, sched::RegionsPolicy& policy,
                          SafetyNet net = SafetyNet::kYes);

}  // namespace stint::sim
