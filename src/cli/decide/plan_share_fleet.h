// stint plan share --history: who shares which GPU of a fleet.
#pragma once

#include "cli/decide/plan_fleet.h"

namespace stint {

enum class ShareFormat { kText, kJson };
/// @param output  empty = standard output.
Status print_fleet_sharing(const PlanFleetOptions& options, ShareFormat format, const std::string& output);

}  // namespace stint
