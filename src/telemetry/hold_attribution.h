// Attribution by hold: each run and each holder stands as a tenant of its own, for cost by pod.
#pragma once

#include "model/hold.h"
#include "telemetry/attribution.h"

namespace stint {

struct HoldAttribution {
  Attribution attribution;
  HoldTable holds;  ///< by id in attribution.occupancy.tenants
};

/// The same holds as attribute() finds, told apart.
HoldAttribution attribute_holds(const History& history, const Usage& usage);

}  // namespace stint
