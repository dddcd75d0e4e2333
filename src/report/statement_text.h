// The statement as people and programs read it: table, JSON, CSV.
#pragma once

#include <string>

#include "ledger/cost_statement.h"
#include "report/table.h"

namespace stint {

/// Columns that are empty throughout are left out; idle causes and the reconciliation with the bill stand below.
std::string statement_table(const CostStatement& statement, const Ledger& ledger, Screen screen);

/// "postings sum to the bill: 47,000.000000000 USD = 47,000.000000000 USD (512 postings, 31 bill lines)".
/// @param ledger  conserved (check_conservation).
std::string reconciliation(const Ledger& ledger);

/// Amounts are decimal texts, exact to the nano-unit. Schema: docs/formats.md.
std::string statement_json(const CostStatement& statement, const Ledger& ledger);

/// One line per tenant, per idle cause, for what of the total is an estimate, and for the total, told apart by the column `line`.
/// RFC 4180.
std::string statement_csv(const CostStatement& statement, const Ledger& ledger);

/// What is stated: "effective (amortised) cost" or "billed cost".
std::string_view describe(CostBasis basis);
/// "2026-10-01 to 2026-10-31": the last day is the last that has part in it, UTC.
std::string describe(Interval period);
/// The name as rows show it: "(not attributed)" for "".
std::string shown_name(const StatementRow& row);

}  // namespace stint
