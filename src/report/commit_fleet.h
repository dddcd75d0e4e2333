// What `stint plan commit --history` shows: commitments for the instance types of a fleet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/billing_months.h"
#include "advise/commit/commit_pools.h"
#include "report/table.h"

namespace stint {

struct CommitFleetView {
  std::string source;
  Interval period;
  CommitPools pools;
  std::optional<int64_t> plan_discount_pct;
  Portfolio portfolio;                           ///< choices as pools
  std::vector<std::optional<CommitRisk>> risks;  ///< as pools; none = nothing is bought, or too little to draw from
  RiskOptions risk_options;
};

std::string commit_fleet_text(const CommitFleetView& view, Screen screen);
std::string commit_fleet_json(const CommitFleetView& view);

}  // namespace stint
