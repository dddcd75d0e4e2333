// The arithmetic of a commitment against on-demand: yearly cost, saving, break-even. Exact money.
#pragma once

#include "base/money.h"
#include "base/result.h"

namespace stint {

/// A commitment costs its rate every hour; on-demand costs only the hours used.
struct CommitmentComparison {
  Money on_demand_per_year;  ///< if it runs all 8,760 hours
  Money committed_per_year;  ///< paid whether it runs or not
  Money saving_per_year;     ///< negative: the commitment is dearer
  double saving_pct = 0;     ///< of on-demand
  /// Share of the hours it must run for the commitment to pay: committed rate / on-demand rate. Above 100: never.
  double break_even_utilization_pct = 0;
};

/// @param on_demand  above zero. @return error when the currencies differ or a rate is not above zero.
Result<CommitmentComparison> compare_commitment(Rate on_demand, Rate committed);

/// Upfront payment spread over the term, plus what is paid per hour.
/// @param years  1 or 3.
Rate effective_rate(Money upfront, Rate recurring, int years);

/// Saving in a year when it runs `hours` of the 8,760: on-demand for those hours less the commitment.
Money saving_at(Rate on_demand, Rate committed, int64_t hours);

}  // namespace stint
