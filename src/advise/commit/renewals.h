// Commitments that end: how many of them to renew, by what their machines still do after the plan.
//
// What is owned costs the same until it ends, so it saves nothing within the plan and is in none of its sums. From its end on its machines
// are on demand unless it is renewed: the planner of commitments decides how many, as it does for what is on demand now.
#pragma once

#include <string>
#include <vector>

#include "advise/find/finder.h"

namespace stint {

/// One sentence for each, in their order. @param now  what ended before is said to have ended.
std::vector<std::string> renewal_notes(const FleetView& fleet, const std::vector<OwnedInstances>& owned, Instant now);

}  // namespace stint
