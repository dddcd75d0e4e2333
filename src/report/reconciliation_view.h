// Imported bills beside invoices: a table, JSON, CSV.
#pragma once

#include <string>

#include "ledger/invoice.h"
#include "report/table.h"

namespace stint {

/// @param period  the billing months looked at; empty = all there are.
std::string reconciliation_text(const Reconciliation& reconciliation, Interval period, Screen screen);
/// Amounts are decimal texts. Schema: docs/formats.md.
std::string reconciliation_json(const Reconciliation& reconciliation);
std::string reconciliation_csv(const Reconciliation& reconciliation);

}  // namespace stint
