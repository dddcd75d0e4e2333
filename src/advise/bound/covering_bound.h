// The least that work can cost when machines may be bought in fractions, by the hour or for the whole period: a bound that certifies itself.
//
// A linear programme. Of every offer n machines are bought for all hours (committed) and n_h for an hour. Work needs, in every hour, two
// things of a machine, parts of its compute and parts of its memory, and may be spread over all offers that hold it:
//   min Σ H·committed·n + Σ_h hourly·n_h    so that in every hour, of every offer, compute and memory of the work put there ≤ n + n_h.
// Its dual puts a price on the compute and on the memory of an offer's machine in every hour. Prices are feasible when in every hour both
// together are at most the hourly price, and over all hours at most the committed price of all hours. Then no plan costs less than all
// work at its cheapest offer by these prices (weak duality). The prices are found in floating point, as the play of two sides that answer
// each other: work goes where it is cheapest, prices rise where the load is. Then they are rounded down to whole nano-units, checked and added
// up in whole numbers, so that the bound is never above the truth, however good the prices are.
// Sources: Brown 1951, "Iterative solution of games by fictitious play"; Plotkin, Shmoys, Tardos 1995, "Fast approximation algorithms for
// fractional packing and covering problems".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"

namespace stint {

/// Machines of one kind and price, as many as wanted.
struct CoveringOffer {
  int64_t hourly = 0;                ///< nano-units for an hour, ≥ 0
  std::optional<int64_t> committed;  ///< nano-units for an hour when bought for every hour of the period, ≥ 0
  /// One price for all hours: for work that may be done at any time, and for commitments that any use fills.
  bool same_every_hour = false;
};

/// Where work may be done, and what one unit of it needs there, in billionths of a machine.
struct CoveringUse {
  uint32_t offer = 0;
  int64_t compute = 0;
  int64_t memory = 0;
  auto operator<=>(const CoveringUse&) const = default;
};

/// Work by the hour. One unit of it for an hour is kUnitHour.
struct CoveringWork {
  std::vector<CoveringUse> uses;  ///< at least one
  std::vector<int64_t> compute, memory;
};
inline constexpr int64_t kUnitHour = 3'600'000;
inline constexpr int64_t kWholeMachine = 1'000'000'000;

struct CoveringProblem {
  size_t hours = 0;
  std::vector<CoveringOffer> offers;
  std::vector<CoveringWork> works;
};
/// @return error when a number is below 0 or too large for exact sums, or a work has no use, an unknown offer or too few hours.
Status check_covering(const CoveringProblem& problem);

/// Nano-units of an hour, by offer × hours + hour.
struct CoveringPrices {
  std::vector<int64_t> compute, memory;
};

struct CoveringBound {
  int64_t at_least = 0;          ///< nano-units of the period: no way to do the work costs less
  std::vector<int64_t> of_work;  ///< its parts
  CoveringPrices prices;         ///< that prove it
};

/// @param problem  as check_covering() demands. Deterministic.
CoveringBound covering_bound(const CoveringProblem& problem);

/// Are the prices feasible, and what do they prove? For whoever does not want to take the bound on trust.
Status check_prices(const CoveringProblem& problem, const CoveringPrices& prices);
/// @param prices  feasible ones. @return by work, rounded down.
std::vector<int64_t> worth_at(const CoveringProblem& problem, const CoveringPrices& prices);

}  // namespace stint
