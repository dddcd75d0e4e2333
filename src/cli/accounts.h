// From a History file to accounts: the one way by which every command that speaks of money gets its figures.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "ledger/ledger.h"
#include "model/history.h"
#include "telemetry/attribution.h"
#include "telemetry/usage.h"

namespace stint {

/// What was recorded, and what things cost.
struct Records {
  History history;
  Usage usage;
  Catalog catalog;  ///< with the History's prices laid over
};
/// @param period  empty = all there is. @return error when the file cannot be read or holds nothing for the period.
Result<Records> load_records(const std::string& path, Interval period);

/// Who held what, and who pays what. Borrows from the Records, which must outlive it.
struct Accounts {
  Attribution attribution;
  Ledger ledger;
};
/// @return error when money cannot be added up, or when the postings do not sum to the bill.
Result<Accounts> keep_accounts(const Records& records, CostBasis basis);

}  // namespace stint
