// A History's bills as they are invoiced, beside a file of invoice totals.
#pragma once

#include <string>

#include "base/result.h"
#include "ledger/invoice.h"

namespace stint {

/// @param invoices  file of totals (codec/bills/invoice_csv.h); empty = none. @param period  billing months; empty = all.
/// @return without a row where there is neither a bill nor a total. Error when a file cannot be read or totals contradict each other.
Result<Reconciliation> reconcile_history(const std::string& history, const std::string& invoices, Interval period);

}  // namespace stint
