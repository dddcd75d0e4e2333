// What goes wrong with simulated machines: drawn ahead by the model that replays use, for trying out how a fleet takes it.
#pragma once

#include <vector>

#include "backends/simulated_backend.h"
#include "daemon/fleet_config.h"

namespace stint {

/// Machines on spot are taken back with two minutes of notice, others fail without one; each is away for a tenth of `between` on
/// average, and a notice is no longer than that. Another time, another fate; the same time, the same. Within `when`, in order of time.
/// @param between  mean time until a machine fails, after it was repaired or has come back; > 0.
std::vector<SimulatedBackend::PlannedNews> simulated_faults(const FleetConfig& fleet, Duration between, Interval when);

}  // namespace stint
