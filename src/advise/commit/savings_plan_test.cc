#include "advise/commit/savings_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"

namespace stint {
namespace {

SavingsPlanType type(int64_t on_demand, int64_t plan_rate, std::vector<int64_t> demand) {
  return {Money::units(on_demand), Money::units(plan_rate), std::move(demand)};
}

/// Every corner of the cost: all sums of plan-priced use that an hour reaches, type after type, and nothing.
Money least_of_all_corners(const std::vector<SavingsPlanType>& types, std::span<const OwnedSavingsPlan> owned = {}) {
  Money least = bill_savings_plan(types, {}, owned).total;
  std::vector<size_t> order(types.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  do {
    for (size_t hour = 0; hour < types.front().demand.size(); ++hour) {
      int64_t reach = 0;
      for (const size_t i : order) {
        reach += types[i].plan_rate.count_nanos() * types[i].demand[hour];
        int64_t free = 0;
        for (const OwnedSavingsPlan& plan : owned)
          if (static_cast<int64_t>(hour) < plan.until_hour) free += plan.commitment.count_nanos();
        if (reach > free) least = std::min(least, bill_savings_plan(types, Money::nanos(reach - free), owned).total);
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(SavingsPlan, PaysForTheGreatestDiscountFirst) {
  // 10 an hour at 5, 4 an hour at 3: twice the money saved per unit of the first. A commitment of 8 covers one of the first in full and
  // one of the second; the second one of the second is left, 4 on demand.
  const std::vector<SavingsPlanType> types = {type(4, 3, {2}), type(10, 5, {1})};
  const SavingsPlanBill bill = bill_savings_plan(types, Money::units(8));
  EXPECT_EQ(bill.committed, Money::units(8));
  EXPECT_EQ(bill.used, Money::units(8));
  EXPECT_EQ(bill.on_demand, Money::units(4));
  EXPECT_EQ(bill.all_on_demand, Money::units(18));
  // Half of one of the second covered as well.
  EXPECT_EQ(bill_savings_plan(types, Money::nanos(9'500'000'000)).on_demand, Money::units(2));
}

TEST(SavingsPlan, OfOneTypeIsTheDiscountQuantile) {
  // Plan rate 6 of 10: an instance pays that runs in more than 6 of 10 hours. Demand 1 … 10: the fourth runs in 7 hours.
  const std::vector<SavingsPlanType> types = {type(10, 6, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})};
  EXPECT_EQ(SavingsPlanSweep(types).best(), Money::units(4 * 6));
}

TEST(SavingsPlan, SweepIsTheLeastOfAllCorners) {
  constexpr uint64_t kSeed = 17;
  Prng random(kSeed);
  for (int i = 0; i < 200; ++i) {
    std::vector<SavingsPlanType> types;
    const size_t hours = 1 + random.below(12);
    for (size_t n = 1 + random.below(4); n > 0; --n) {
      const auto on_demand = static_cast<int64_t>(2 + random.below(20));
      types.push_back(type(on_demand, 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(on_demand) + 2)), {}));
      for (size_t hour = 0; hour < hours; ++hour)
        types.back().demand.push_back(static_cast<int64_t>(random.below(5)));
    }
    std::vector<OwnedSavingsPlan> owned;
    if (random.below(2) == 0)
      owned.push_back({Money::units(static_cast<int64_t>(random.below(20))), static_cast<int64_t>(hours / 2)});
    ASSERT_TRUE(check_savings_types(types).ok());
    const SavingsPlanSweep sweep(types, owned);
    // Rounding of a partly covered type, once an hour, is all that may differ.
    EXPECT_LE(bill_savings_plan(types, sweep.best(), owned).total.count_nanos(),
              least_of_all_corners(types, owned).count_nanos() + static_cast<int64_t>(hours))
        << "seed " << kSeed << ", case " << i;
    double worth = 0;
    for (const double w : sweep.worth_at(sweep.best()))
      worth += w;
    EXPECT_LE(worth, static_cast<double>(hours) * (1 + 1e-12)) << "seed " << kSeed << ", case " << i;
  }
}

TEST(SavingsPlan, CommitsNothingWhereNothingPays) {
  EXPECT_EQ(SavingsPlanSweep(std::vector<SavingsPlanType>{type(3, 3, {5, 5})}).best(), Money());
  EXPECT_EQ(SavingsPlanSweep(std::vector<SavingsPlanType>{type(5, 3, {0, 0})}).best(), Money());
  EXPECT_EQ(SavingsPlanSweep({}).best(), Money());
}

TEST(SavingsPlan, SaysWhatIsWrong) {
  EXPECT_NE(check_savings_types(std::vector<SavingsPlanType>{type(5, 0, {1})}).error().message.find("above 0"),
            std::string::npos);
  EXPECT_NE(check_savings_types(std::vector<SavingsPlanType>{type(5, 3, {1}), type(5, 3, {1, 2})}).error().message.find("hours"),
            std::string::npos);
  EXPECT_NE(check_savings_types(std::vector<SavingsPlanType>{type(5, 3, {-1})}).error().message.find("-1"), std::string::npos);
}

}  // namespace
}  // namespace stint
