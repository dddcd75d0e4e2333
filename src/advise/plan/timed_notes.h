// Capacity blocks and flex-start beside the plan: what training that is left on demand would cost there. Counted nowhere: blocks may be sold out, their
// rates change each quarter, and what flex-start costs no source quotes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/find/finder.h"
#include "catalog/timed_offers.h"

namespace stint {

/// Of the machines that train and are on demand, by type: a line for the cheapest block that costs less, and one for flex-start where runs fit it.
/// @param plan  with books as the plan leaves them.
std::vector<std::string> timed_notes(const FleetView& plan, std::span<const TimedOffer> offers);

}  // namespace stint
