// A savings plan on a fleet's own hours: what it pays for, hour by hour, of what its machines run on demand under the plan so far.
//
// Seconds, not whole instances: in each hour the plan pays for the machines with the greatest discount first, as far as its money
// reaches; on-demand pays for the rest. The books and the proof by billing again both rest on this.
// Source: AWS, "Understanding how Savings Plans apply to your usage" (order of application).
#pragma once

#include <span>
#include <vector>

#include "advise/books.h"

namespace stint {

struct SavingsPlanHour {
  Money before;  ///< on demand without the plan
  Money used;    ///< of the commitment
  Money beyond;  ///< on demand still
};

/// One per hour of the period; empty when none of the nodes is on demand in any, at a price above the plan's rate.
std::vector<SavingsPlanHour> hours_under(const Books& books, const SavingsPlan& plan, std::span<const NodeId> nodes);

}  // namespace stint
