// What only a high risk would reach, beside a plan and in none of its sums: commitments of three years, other pools of spot, another provider.
//
// Each is a price difference on what the plan leaves, machine by machine and hour by hour, at prices of the catalogue. None is replayed: how long the work
// goes on, how often other pools are taken back, and what the move of the data costs is not known here. They are of the same machines, so they do not
// add up.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/audit_report.h"
#include "advise/find/finder.h"

namespace stint {

/// Those that would take something off, in the order of RiskLever.
/// @param plan  with books as the plan leaves them. @param findings  of the plan.
std::vector<RiskOutlook> risk_outlooks(const FleetView& plan, std::span<const Finding> findings);

/// One sentence for people.
std::string risk_note(const RiskOutlook& outlook);

}  // namespace stint
