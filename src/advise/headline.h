// What the headline of an audit rests on: how much of the saving was replayed, which prices it trusts, how far these may move,
// whether the data are complete, and what stands between the plan and a goal.
#pragma once

#include <span>
#include <vector>

#include "advise/audit_report.h"
#include "advise/books.h"

namespace stint {

/// Of the catalogue, what `change` was priced with, each once. @param after  books with the change applied.
std::vector<PriceRow> prices_behind(const Change& change, const Books& after);
PriceDoubt worst_doubt(std::span<const PriceRow> prices, Instant now);

/// What the plan's findings and the lines made from hours rest on, each once, oldest first. @param history  of the ledger.
std::vector<UsedPrice> prices_used(std::span<const Finding> findings, const Ledger& ledger, const History& history,
                                   const Catalog& catalog, Instant now);

SavingBasis saving_basis(std::span<const Finding> findings, Money zero);

/// How far prices of spot moved, in percent of what they were: p5.48xlarge from 26.42 (estimate of 2025-06-28) to 19.65 (quoted on
/// 2026-07-07), p4d.24xlarge from 7.25 to 13.11. No spot price rises above on-demand.
inline constexpr int64_t kSpotLowPct = 74;
inline constexpr int64_t kSpotHighPct = 181;
/// @param findings  of the plan, in any order. @param plan  what it costs a month.
/// @return none when no finding moves to spot.
std::optional<PlanRange> plan_range(std::span<const Finding> findings, const FleetFacts& facts, const Catalog& catalog,
                                    Money plan);

/// Bill, rows of the imports, telemetry, prices. @param coverage  lines that say what the bill leaves out.
std::vector<DataCheck> data_checks(const AuditReport& report, const Ledger& ledger);

/// Rejected findings that would still save on the plan's books, one after another, dearest first.
/// @param without  ids of findings that are left out because the plan is better so: no obstacles.
std::vector<Obstacle> obstacles_of(std::span<const Finding> rejected, std::span<const std::string> without, Books plan);

/// The way from a plan to a goal. @param missing  a month, above zero.
/// @return obstacles until they make up `missing`, and what no known change reaches; they sum to it.
std::vector<Obstacle> gap_of(std::span<const Obstacle> obstacles, Money missing);

}  // namespace stint
