// How sure is a commitment? The past says what demand was, not what it will be: so the coming term is drawn many times from weeks of
// the past (a block bootstrap: whole weeks keep the rhythm of days and weekends), each draw is billed, and the spread is told.
// Weeks that never happened cannot be drawn; for those a fall of demand can be put on top.
// Source: Künsch 1989, "The jackknife and the bootstrap for general stationary observations" (blocks).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "advise/commit/commit_bill.h"

namespace stint {

/// What is bought: so many, at once or in equal rungs a part of the term apart. A later rung is bought only as far as what ran since
/// the one before it says that it would pay.
struct CommitLadder {
  int64_t count = 0;
  int64_t rungs = 1;  ///< ≥ 1
};

struct RiskOptions {
  int64_t draws = 500;
  uint64_t seed = 42;
  double fall = 0;  ///< share of demand gone in the second half of the term, 0–1
};

/// In percent of what the drawn demand costs on demand; fees count for the hours of the term that were drawn.
struct CommitRisk {
  double saving_pct_p10 = 0;
  double saving_pct_p50 = 0;
  double saving_pct_p90 = 0;
  double saving_pct_worst5 = 0;  ///< mean of the worst twentieth
  double loss_probability = 0;   ///< share of draws in which on-demand alone were cheaper
};

/// The hours that a coming term is drawn from: the last term, at least eight weeks of it where they are there, in whole weeks.
/// @return none when there are fewer than two weeks.
std::optional<std::span<const int64_t>> weeks_to_draw(const CommitMarket& market, std::span<const int64_t> demand);

/// @param weeks  of weeks_to_draw(). Buys the first offer. Deterministic in the seed.
CommitRisk assess(const CommitMarket& market, std::span<const int64_t> weeks, const CommitLadder& ladder,
                  const RiskOptions& options);

}  // namespace stint
