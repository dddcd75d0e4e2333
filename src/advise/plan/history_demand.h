// The demands of a History by the hour, to be forecast: GPUs held and active, whose they were, runs begun, and money.
#pragma once

#include <vector>

#include "ledger/ledger.h"
#include "model/history.h"
#include "model/occupancy.h"
#include "telemetry/demand_series.h"

namespace stint {

/// In this order: "GPUs held", "GPUs active", "cost", "runs begun" of each kind, "GPUs held by" the clients that held most (five
/// at most). A demand there is no record of is left out. An hour without a record of more than half of the GPUs is missing.
/// MIG instances count as their share of the card. Where job records know at least twice as many hours as telemetry they say what is held.
/// @param ledger  posted from `occupancy` over history.period.
std::vector<DemandSeries> demands_of(const History& history, const Occupancy& occupancy, const Ledger& ledger);

/// GPUs there at `at`, and how many of them are owned or reserved and cost the same when idle.
struct FleetCapacity {
  int64_t gpus = 0;
  int64_t committed_gpus = 0;
};
FleetCapacity capacity_at(const History& history, Instant at);

}  // namespace stint
