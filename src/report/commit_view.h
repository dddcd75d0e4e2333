// What `stint plan commit` shows: policies for buying commitments side by side, and the demand they were tried on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/commit_policy.h"
#include "report/table.h"

namespace stint {

struct CommitRun {
  CommitPolicy policy = CommitPolicy::kOptimal;
  CommitPlan plan;
  CommitBill bill;
};

struct CommitView {
  std::string source;
  CommitMarket market;  ///< with one offer
  HourlyDemand demand;
  std::vector<CommitRun> runs;
  Money optimal;           ///< the least possible total
  Money optimal_by_level;  ///< the least with every reservation tied to one level
};

/// Share of the whole; none where the whole is nothing.
std::optional<double> ratio(Money part, Money whole);

std::string commit_text(const CommitView& view, Colour colour);
/// One run: an object; several: an object with them under `policies`.
std::string commit_json(const CommitView& view);

}  // namespace stint
