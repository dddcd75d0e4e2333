// Runs that no person waits for, each moved to where and when it costs least.
#pragma once

#include <vector>

#include "advise/plan/plan_schedule.h"

namespace stint {

/// Groups of which some run becomes cheaper, descending by what that saves.
std::vector<LaterRuns> later_runs(const FleetView& fleet, const SchedulePlanOptions& options);

}  // namespace stint
