// A ledger as FOCUS 1.3 CSV: one row a posting, so that any tool that reads FOCUS can charge tenants.
//
// Source: FOCUS 1.3, "Split cost allocation": the rows of a charge sum to it exactly, and its dimensions and unit
// prices stand unchanged on each of them; only costs and quantities are divided. Columns of our own begin with x_.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "ledger/ledger.h"
#include "model/fleet.h"

namespace stint {

/// The cost on the ledger's basis is each posting's amount; the other costs and the quantity are divided in the
/// same proportions by largest remainder. A line of no amount on that basis is one row without an owner, so every cost of
/// the bill is in the rows. Absent values are empty fields; times are UTC.
/// @param nodes  the History's, for x_GpuModel.
/// @param out  called with the text in order, in pieces.
void write_focus_ledger(const Ledger& ledger, std::span<const Node> nodes, const std::function<void(std::string_view)>& out);

}  // namespace stint
