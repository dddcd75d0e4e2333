// From a History file to accounts: the one way by which every command that speaks of money gets its figures.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "ledger/exchange_rates.h"
#include "ledger/ledger.h"
#include "model/history.h"
#include "telemetry/attribution.h"
#include "telemetry/usage.h"

namespace stint {

/// What was recorded, and what things cost.
struct Records {
  History history;
  Usage usage;
  Interval period;  ///< what was asked for, to the end of the hour of the last sign of anything; empty = all there is
  bool estimate = false;
  Catalog catalog;  ///< with the History's prices laid over
  ExchangeRates exchange;
};
enum class WithEstimates { kNo, kYes };
/// What a reader must know of how the History was read, on stderr; left out where the same was read and told before.
enum class HistoryNotes { kTell, kLeaveOut };
/// @param period  empty = all there is. @param estimate  price also what only the inventory speaks of.
/// Amounts are in one currency: the one chosen for the History, else that of its bill.
/// @return error when the file cannot be read, when an amount cannot be converted or, without an estimate, nothing is known of the period: neither bill nor telemetry nor job.
Result<Records> load_records(const std::string& path, Interval period, WithEstimates estimate = WithEstimates::kNo,
                             HistoryNotes notes = HistoryNotes::kTell);

/// Who held what, and who pays what. Borrows from the Records, which must outlive it.
struct Accounts {
  Attribution attribution;
  Ledger ledger;
};
/// @return error when money cannot be added up, or when the postings do not sum to the bill.
Result<Accounts> keep_accounts(const Records& records, CostBasis basis);

}  // namespace stint
