// What the planners of commitments share: prices reduced to two numbers, and demand cut into levels.
#pragma once

#include <span>
#include <vector>

#include "advise/commit/commit_bill.h"

namespace stint {

/// What matters for the choice, in integers without a common factor: running an hour on demand costs `hour` more than on a
/// reservation that is held anyway, and holding one for a term costs `term` more than not. `hour` ≤ 0: buying never pays.
struct ReducedOffer {
  int64_t hour = 0;
  int64_t term = 0;
  int64_t term_hours = 0;
  uint32_t offer = 0;  ///< into CommitMarket::offers
};

/// The offers that can pay at all, in order. All of them share one `hour`.
std::vector<ReducedOffer> reduced_offers(const CommitMarket& market);

/// Instances that run in exactly the same hours: those above the next smaller demand, up to this one.
struct DemandLevel {
  int64_t height = 0;  ///< demand is at least this in its hours
  int64_t count = 0;   ///< instances
};

/// The levels of a demand, from the one that runs most to the one that runs least.
std::vector<DemandLevel> levels_of(std::span<const int64_t> demand);

/// How many of the first offer pay if the demand repeats: the discount-quantile of hourly use.
int64_t paying_count(const CommitMarket& market, std::span<const int64_t> demand);

/// Sorted by hour and offer, equal ones joined.
CommitPlan ordered(CommitPlan plan);

}  // namespace stint
