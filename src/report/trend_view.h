// Month over month: why a period cost more or less than another, and its anomalies; text, JSON, CSV.
#pragma once

#include <string>
#include <vector>

#include "advise/find/cost_anomalies.h"
#include "ledger/cost_change.h"
#include "report/table.h"

namespace stint {

/// Everything one view shows.
struct Trend {
  CostChange change;
  CostAnomalies anomalies;         ///< of the later period
  std::vector<std::string> notes;  ///< what a reader must know of the figures
};

std::string trend_text(const Trend& trend, Screen screen);
/// Amounts are decimal texts. Schema: docs/formats.md.
std::string trend_json(const Trend& trend);
/// One line for each row and for the total.
std::string trend_csv(const Trend& trend);

}  // namespace stint
