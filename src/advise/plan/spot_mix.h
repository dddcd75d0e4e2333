// Spreading work over spot pools, and keeping a part of it on demand so that it ends in time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stint {

/// Units for each pool at the least cost, when no pool may hold more than `most`: what one pool takes back at once is bounded.
///
/// Filling the cheapest first is exact: any other choice becomes no dearer by moving a unit from a pool to a cheaper one with room.
/// @param cost_per_unit  by pool, in one currency. @param most  ≥ 1.
/// @return by pool; the sum is less than `units` when all pools are full. Ties: lower index first.
std::vector<int64_t> spread_over_pools(std::span<const double> cost_per_unit, int64_t units, int64_t most);

/// The greatest share of a job's progress that may be made on spot so that it ends by the deadline nine times in ten.
///
/// Progress on demand takes as long as it says, on spot finish_p90 / work as long, so a share s ends after
/// work·(1 − s) + finish_p90·s.
/// @param work_h, finish_h_p90  of all the work, on demand and on spot. @param most  as 0.9: what is never put on spot is the rest.
/// @return 0 … most; 0 when even on demand does not end by then.
double share_on_spot(double work_h, double finish_h_p90, double deadline_h, double most);

}  // namespace stint
