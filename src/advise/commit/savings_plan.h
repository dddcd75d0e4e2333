// A savings plan: so much money every hour, paid whether used or not, that buys use of many instance types at their plan rates.
//
// In each hour the plan pays for the types with the greatest discount first, as far as its money reaches; on-demand pays for the rest.
// The cost of a period is then a convex function of the commitment, linear between the sums of plan-priced use that hours reach, type
// after type. A unit more of commitment costs a unit in every hour and saves, in each, the on-demand price per unit of plan rate of
// the type it would reach: the least cost is where these sums cross. That commitment is found exactly.
// Source: AWS, "Understanding how Savings Plans apply to your usage" (order of application).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/money.h"
#include "base/result.h"

namespace stint {

struct SavingsPlanType {
  Money on_demand;  ///< per instance-hour
  Money plan_rate;  ///< per instance-hour out of the commitment; above 0 and below on_demand, else the plan never pays for it
  std::vector<int64_t> demand;  ///< instances per hour; as many hours for every type
};

/// Bought before: its money is spent, what it buys until it ends is free.
struct OwnedSavingsPlan {
  Money commitment;  ///< per hour
  int64_t until_hour = 0;
};

struct SavingsPlanBill {
  Money total;          ///< committed + on_demand
  Money committed;      ///< paid over all hours
  Money used;           ///< of it and of what was owned
  Money on_demand;      ///< use that the plan did not reach
  Money all_on_demand;  ///< without any plan, owned ones included
};

/// @return error when currencies or lengths differ, a price is not above 0, or the sums are too large for exact money.
Status check_savings_types(std::span<const SavingsPlanType> types);

/// Hour by hour. What a partly covered type costs on demand is rounded half to even, once an hour.
SavingsPlanBill bill_savings_plan(std::span<const SavingsPlanType> types, Money commitment,
                                  std::span<const OwnedSavingsPlan> owned = {});

/// Use of many types in the order in which a plan pays for it, summed up hour by hour: the basis of the sweep.
class SavingsPlanSweep {
 public:
  /// @param types  as check_savings_types() demands; must outlive this.
  explicit SavingsPlanSweep(std::span<const SavingsPlanType> types, std::span<const OwnedSavingsPlan> owned = {});

  /// The least commitment per hour with the least total.
  [[nodiscard]] Money best() const;

  /// What a unit of commitment more is worth in each hour: on-demand price over plan rate of the type it would reach, 0 where all is
  /// covered. At best() hours on a corner take a value between its sides such that all of them sum to the number of hours (or less,
  /// when nothing is committed): the prices that prove best() is the best.
  [[nodiscard]] std::vector<double> worth_at(Money commitment) const;

 private:
  [[nodiscard]] size_t reached(size_t hour, int64_t nanos) const;
  [[nodiscard]] long double worth(int64_t nanos) const;

  std::vector<int64_t> owned_;      // nano-units per hour
  std::vector<long double> ratio_;  // of the types in order, largest first, and 0 at the end
  std::vector<int64_t> reach_;      // hour × type: commitment that covers all types up to this one
  size_t hours_ = 0;
  size_t types_ = 0;
  Currency currency_;
};

}  // namespace stint
