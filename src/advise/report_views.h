// The parts of the report that are views of the ledger and of the facts: clients, idle causes, categories, the
// utilisation-cost curve, the heat map, the holders. Amounts are per month and sum to the bill.
#pragma once

#include "advise/node_facts.h"

namespace stint {

/// @param occupancy  that the ledger was posted from; GPU-hours and use come from it.
std::vector<ClientSpend> client_view(const FleetFacts& facts, const History& history, const Usage& usage,
                                     const Occupancy& occupancy, const Ledger& ledger);
/// The idle cause of active hours in which kernels left the GPU partly unused.
inline constexpr std::string_view kPartlyUsed = "partly-used";
/// Compute money of what is not used, by cause, descending: hours in which nothing was active, and of active hours the part that mean
/// utilisation leaves. The active hours of a machine without telemetry are not known.
std::vector<NamedAmount> idle_view(const FleetFacts& facts, const Ledger& ledger);
/// The whole bill: compute by category of the work, then "storage", "transfer", "other charges".
std::vector<NamedAmount> category_view(const FleetFacts& facts, const Ledger& ledger);
std::vector<CurvePoint> curve_view(const FleetFacts& facts);
std::vector<HeatRow> heat_view(const FleetFacts& facts);
std::vector<HolderAudit> holder_view(const History& history, const Usage& usage);

}  // namespace stint
