// What a change really saved: the arithmetic, on cost and work before and after it.
//
// A bill falls when a change saves, when demand falls and when prices fall; only the first is the change's. So the bill's difference
// is taken apart exactly:
//
//   cost after − cost before = demand + price − saving         (all per month)
//   demand = unit before × (work after − work before)          what the other work would have cost as before
//   price  = (index − 1) × unit before × work after            what the old machines would cost more by now
//   saving = index × unit before × work after − cost after     what is left is the change's
//
// with unit = cost / work, and work in GPU-hours. A fall in demand is no saving. As a promise was made for the demand of its day,
// it is held against the saving at that demand: (index × unit before − unit after) × work before.
//
// Assumption: without the change cost would have followed work. Where machines were there anyway it would have stayed, so the
// bill's own difference (prices apart) is shown beside it. Where next to no work was done before, it is the only measure.
#pragma once

#include <optional>
#include <string_view>

#include "base/money.h"
#include "base/time.h"

namespace stint {

struct CostAndWork {
  Duration length;             ///< > 0
  Money cost;                  ///< of the machines, effective (amortised)
  double gpu_hours = 0;        ///< of work
  double gpu_hours_there = 0;  ///< that could have been used
};

struct RealisedSaving {
  Money per_month;                           ///< at the demand of before: what a promise is held against
  Money per_month_now;                       ///< at the demand of after
  Money demand_per_month;                    ///< of the bill's difference, what more (or less) work cost
  Money price_per_month;                     ///< and what other prices did
  Money bill_falls_per_month;                ///< index × cost before − cost after: had cost not followed work
  std::optional<Money> per_gpu_hour_before;  ///< none = no work
  std::optional<Money> per_gpu_hour_after;
  bool idle_before = false;  ///< no work to speak of: the saving is what the bill fell by
};

/// Below this part of the hours there, work is none to speak of.
inline constexpr double kIdleShare = 0.02;

/// @param price_index  what the machines of before would cost at the prices of after, over what they cost; > 0.
/// Months of 730 hours.
RealisedSaving realised_saving(const CostAndWork& before, const CostAndWork& after, double price_index);

enum class SavingVerdict { kKept, kPartly, kNone, kCostsMore };
std::string_view name_of(SavingVerdict v);  // "kept", "partly", "none", "costs-more"

/// Kept: at least `low`, or 90 % of what was promised where no lower bound was given. Between −10 and 10 % of the promise: none.
SavingVerdict verdict_of(Money realised, Money promised, std::optional<Money> low);

/// What was earned on what carrying it out cost.
struct Return {
  Money saved;                           ///< so far
  double on_cost = 0;                    ///< (saved − cost) / cost; 0.5 = half as much again came back
  std::optional<double> payback_months;  ///< cost / saving a month; none = never at this rate
};
/// @param cost  > 0. @param since  since it took effect.
Return return_on(Money cost, Money saving_per_month, Duration since);

}  // namespace stint
