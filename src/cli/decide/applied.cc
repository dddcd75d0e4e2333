#include "cli/decide/applied.h"

#include "cli/govern/accounts.h"
#include "store/history_file.h"

namespace stint {

Result<AppliedSavings> applied_savings(const std::string& path) {
  AppliedSavings out;
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kReadOnly));
  TRY_ASSIGN(out.applied, file.applied_changes());
  if (out.applied.empty()) return out;
  TRY_ASSIGN(const Records records, load_records(path, {}));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, CostBasis::kEffective));
  out.tracked = track_savings({records.history, accounts.attribution.occupancy, accounts.ledger, out.applied});
  return out;
}

}  // namespace stint
