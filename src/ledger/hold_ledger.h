// A ledger told by hold: pods, jobs and holders in place of tenants. What a tenant pays for a line is split over its holds, so that
// they sum to the tenant's bill to the nano-unit, and all of it to the ledger.
#pragma once

#include "ledger/ledger.h"
#include "model/hold.h"

namespace stint {

/// `whole` with the postings of each tenant split over its holds, in proportion to what `by_hold` has for them, by largest remainder.
/// @param by_hold  posted from the occupancy of attribute_holds(), else as `whole` was. @param holds  of that occupancy.
/// @return its tenants are those of `by_hold`.
Ledger ledger_of_holds(const Ledger& whole, Ledger by_hold, const HoldTable& holds);

}  // namespace stint
