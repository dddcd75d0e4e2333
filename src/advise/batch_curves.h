// Measured batch curves of services: how long batches of 1, 2, … take on one of the replicas of now. A service with one is replayed as replicas that
// gather batches (batching/batch_table.h); any other as replicas that take one request at a time.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "batching/batch_table.h"

namespace stint {

struct FleetFacts;

using BatchCurves = std::map<std::string, std::shared_ptr<const batching::BatchTable>>;  // by service

/// Those of services that the fleet does not have are named in its notes, and are for nothing.
void add_batch_curves(FleetFacts& fleet, const BatchCurves& curves);
/// Null: none was measured.
const batching::BatchTable* curve_of(const FleetFacts& fleet, const std::string& service);

}  // namespace stint
