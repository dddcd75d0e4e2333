#include "cli/understand/anomalies.h"

#include "cli/govern/accounts.h"

namespace stint {

Result<CostAnomalies> anomalies_in(const std::string& history, Interval period, CostBasis basis, const AnomalyOptions& options) {
  TRY_ASSIGN(const Records records,
             load_records(history, {period.begin - lookback(options), period.end}, WithEstimates::kNo, HistoryNotes::kLeaveOut));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, basis));
  return find_cost_anomalies(accounts.ledger, period, options);
}

}  // namespace stint
