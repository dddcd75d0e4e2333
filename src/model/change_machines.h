// What a Change asks of machines, for those that carry it out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/fleet_plan.h"

namespace stint {

/// Machines that are no longer needed once the change took effect, and nothing else has to happen before.
std::vector<std::string> given_up(const Change& change, const FleetPlan& fleet);

/// Stretches of the circular week that are off: first hour off, first hour on again.
std::vector<std::pair<size_t, size_t>> spans_of(const WeekHours& off);

}  // namespace stint
