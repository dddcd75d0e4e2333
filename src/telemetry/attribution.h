// Attribution: from rollups and runs to who held which part of which device in every hour.
//
// Sources of a hold, best first: a run that names the GPU; a run that names the node and a count; telemetry
// that carries a holder (pod, container, job); the node's own tenant. What none of them explains, but where
// the device was active, is the "unattributed" bucket.
#pragma once

#include "model/history.h"
#include "model/occupancy.h"
#include "telemetry/usage.h"

namespace stint {

struct AttributionSummary {
  double attributed_pct = 0;    ///< of active GPU-hours, those with a tenant
  double unattributed_pct = 0;  ///< the rest
  double missing_pct = 0;       ///< of all GPU-hours in the period, those without telemetry and without a hold
};

struct Attribution {
  Occupancy occupancy;
  AttributionSummary summary;
};

Attribution attribute(const History& history, const Usage& usage);

}  // namespace stint
