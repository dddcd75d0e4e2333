// Bill lines for nodes that no bill speaks of: hours × price.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "catalog/catalog.h"
#include "ledger/node_hours.h"
#include "model/history.h"

namespace stint {

/// Lines for `node` over the hours it was there in `period`, at the node's own rate, one for each time in which that was the same;
/// else one at the catalogue's price of its type, region and market (an unknown market counts as on demand, a reserved one as one
/// year).
/// @param hours  ascending
/// @return none when it was never there; error saying what is missing when no price is known (not naming the node).
Result<std::vector<BillLine>> synthesise(const Node& node, std::span<const NodeHours::Hour> hours, const Catalog& catalog,
                                         Interval period);

/// The catalogue's price that such a line rests on. @return none for a node with a rate, and where no price is known.
std::optional<PriceRow> catalogue_price_of(const Node& node, const Catalog& catalog);

}  // namespace stint
