// A checkpointing job on spot: the interval between checkpoints, when it ends, what it costs, and whether spot pays at all.
//
// A life of the instance goes on: restart, then segments of `interval` work and a checkpoint. What was not checkpointed
// when capacity is lost is done again. Waiting for capacity costs time, not money. Hours throughout.
// Sources: Young 1974, "A first order approximation to the optimum checkpoint interval"; Daly 2006 (spot_math.h).
#pragma once

#include <cstdint>
#include <optional>

#include "advise/prove/spot_hazard.h"

namespace stint {

struct SpotJob {
  double work_h = 1;
  double checkpoint_h = 0;
  double restart_h = 0;    ///< paid whenever an instance begins, the first included
  double mean_wait_h = 0;  ///< for capacity after a loss, exponential; not paid

  /// Error unless work is above 0 and at most 100,000 h, and the others are 0 or more.
  [[nodiscard]] Status check() const;
};

/// Mean hours paid until the work is done, checkpointing after every `interval_h` of work. Exact for every hazard: summed
/// over how many segments a life completes. O(segments²) time, at most 20,000 segments (the interval is lengthened to that).
/// nullopt when no life completes a segment.
std::optional<double> expected_paid_h(const SpotJob& job, const SpotHazard& hazard, double interval_h);

/// The interval with the least expected hours, found numerically among whole numbers of segments.
/// nullopt as above.
std::optional<double> best_interval_h(const SpotJob& job, const SpotHazard& hazard);

struct SpotOutlook {
  double paid_h = 0;  ///< mean
  double paid_h_p90 = 0;
  double finish_h = 0;  ///< mean, waiting included
  double finish_h_p90 = 0;
  double interruptions = 0;  ///< mean
};

/// By simulation from a seed.
/// @param rate     where given, each trial draws its own rate and lives are stretched to it: what is not known of
///                 the rate widens the outlook.
/// @param trials   1 or more.
/// @return error when a trial passes 1,000,000 lives: the job does not end.
Result<SpotOutlook> spot_outlook(const SpotJob& job, const SpotHazard& hazard, double interval_h,
                                 const std::optional<InterruptionRate>& rate, uint64_t seed, int trials);

/// The least discount at which spot costs less: 1 − (work + on-demand start) / (work × stretch + spot start).
/// @param stretch            hours per hour of work, 1 or more.
/// @param on_demand_start_h  0 for a warm machine.
double break_even_discount(double work_h, double stretch, double spot_start_h, double on_demand_start_h);

}  // namespace stint
