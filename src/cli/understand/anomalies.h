// Unusual days of a period: what `stint trend` and `stint audit` both show.
#pragma once

#include <string>

#include "advise/find/cost_anomalies.h"
#include "ledger/ledger.h"

namespace stint {

/// Reads the weeks before the period, too. What there is to note about the History is not printed.
Result<CostAnomalies> anomalies_in(const std::string& history, Interval period, CostBasis basis, const AnomalyOptions& options);

}  // namespace stint
