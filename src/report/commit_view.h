// What `stint plan commit` shows: policies for buying commitments side by side, and the demand they were tried on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/commit/commit_policy.h"
#include "advise/commit/commit_risk.h"
#include "report/table.h"

namespace stint {

struct CommitRun {
  CommitPolicy policy = CommitPolicy::kOptimal;
  CommitPlan plan;
  CommitBill bill;
};

/// Buying now for a term, and what may come of it.
struct CommitRiskRow {
  CommitLadder ladder;
  double fall = 0;  ///< share of demand gone in the second half of the term
  CommitRisk risk;
};

struct CommitView {
  std::string source;
  CommitMarket market;  ///< with one offer
  HourlyDemand demand;
  std::vector<CommitRun> runs;
  std::vector<CommitRiskRow> risks;
  int64_t weeks_drawn_from = 0;
  RiskOptions risk_options;
  std::optional<Money> spot;  ///< an instance-hour, for what no commitment covers; none = on demand
  Money optimal;              ///< the least possible total
  Money optimal_by_level;     ///< the least with every reservation tied to one level
};

/// What a run costs when all that no commitment covers can be interrupted and is on spot. @param view  with a spot price.
Money cost_with_spot(const CommitView& view, const CommitRun& run);

/// Share of the whole; none where the whole is nothing.
std::optional<double> ratio(Money part, Money whole);

std::string commit_text(const CommitView& view, Screen screen);
/// One run: an object; several: an object with them under `policies`.
std::string commit_json(const CommitView& view);

}  // namespace stint
