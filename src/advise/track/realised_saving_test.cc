// All numbers are chosen so that they can be done in the head: months of 730 hours, cost per GPU-hour 2 before.
#include "advise/track/realised_saving.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stint {
namespace {

constexpr Duration kMonth = Duration::hours(730);

CostAndWork month(int64_t cost, double work) {
  return {.length = kMonth, .cost = Money::units(cost), .gpu_hours = work, .gpu_hours_there = 1000};
}

TEST(RealisedSaving, HalfThePriceForTheSameWorkIsHalfSaved) {
  const RealisedSaving r = realised_saving(month(1000, 500), month(500, 500), 1);
  EXPECT_EQ(r.per_month, Money::units(500));
  EXPECT_EQ(r.per_month_now, Money::units(500));
  EXPECT_EQ(r.demand_per_month, Money());
  EXPECT_EQ(r.per_gpu_hour_before, Money::units(2));
  EXPECT_EQ(r.per_gpu_hour_after, Money::units(1));
}

TEST(RealisedSaving, AFallInDemandIsNone) {
  // Half the work at half the cost: the bill fell by 500, the change saved nothing.
  const RealisedSaving r = realised_saving(month(1000, 500), month(500, 250), 1);
  EXPECT_EQ(r.per_month, Money());
  EXPECT_EQ(r.per_month_now, Money());
  EXPECT_EQ(r.demand_per_month, Money::units(-500));
  EXPECT_EQ(r.bill_falls_per_month, Money::units(500));
}

TEST(RealisedSaving, TwiceTheDemandDoesNotHideOne) {
  // Twice the work for the same money: the bill did not fall, each GPU-hour costs half.
  const RealisedSaving r = realised_saving(month(1000, 250), month(1000, 500), 1);
  EXPECT_EQ(r.per_month, Money::units(500)) << "(4 − 2) × 250, at the demand of the promise";
  EXPECT_EQ(r.per_month_now, Money::units(1000)) << "(4 − 2) × 500, at today's";
  EXPECT_EQ(r.demand_per_month, Money::units(1000));
  EXPECT_EQ(r.bill_falls_per_month, Money());
}

TEST(RealisedSaving, APriceThatFellIsNotTheChanges) {
  // Prices halved, the bill halved: nothing left for the change.
  const RealisedSaving fell = realised_saving(month(1000, 500), month(500, 500), 0.5);
  EXPECT_EQ(fell.per_month, Money());
  EXPECT_EQ(fell.price_per_month, Money::units(-500));
  // Prices rose by half and the bill stayed: the change kept 500 off it.
  const RealisedSaving rose = realised_saving(month(1000, 500), month(1000, 500), 1.5);
  EXPECT_EQ(rose.per_month, Money::units(500));
  EXPECT_EQ(rose.price_per_month, Money::units(500));
}

TEST(RealisedSaving, LengthsAreMadeMonths) {
  CostAndWork after = month(250, 250);
  after.length = Duration::hours(365);
  EXPECT_EQ(realised_saving(month(1000, 500), after, 1).per_month, Money::units(500));
}

TEST(RealisedSaving, OfMachinesThatDidNothingItIsTheirCost) {
  const RealisedSaving r = realised_saving(month(1000, 1), {.length = kMonth}, 1);
  EXPECT_TRUE(r.idle_before);
  EXPECT_EQ(r.per_month, Money::units(1000));
  EXPECT_FALSE(r.per_gpu_hour_after);
}

TEST(RealisedSaving, TheBillsDifferenceIsTakenApartExactly) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const auto draw = [&] {
      return month(1 + static_cast<int64_t>(prng.below(100'000)), 20 + static_cast<double>(prng.below(1000)));
    };
    const CostAndWork before = draw();
    const CostAndWork after = draw();
    const RealisedSaving r = realised_saving(before, after, 0.5 + prng.uniform());
    const double difference = (after.cost - before.cost).to_double();
    EXPECT_NEAR(difference, (r.demand_per_month + r.price_per_month - r.per_month_now).to_double(), 1e-6);
  }
}

TEST(SavingVerdict, IsHeldAgainstThePromise) {
  const Money promised = Money::units(100);
  EXPECT_EQ(verdict_of(Money::units(95), promised, {}), SavingVerdict::kKept);
  EXPECT_EQ(verdict_of(Money::units(80), promised, {}), SavingVerdict::kPartly);
  EXPECT_EQ(verdict_of(Money::units(80), promised, Money::units(75)), SavingVerdict::kKept);
  EXPECT_EQ(verdict_of(Money::units(5), promised, {}), SavingVerdict::kNone);
  EXPECT_EQ(verdict_of(Money::units(-5), promised, {}), SavingVerdict::kNone);
  EXPECT_EQ(verdict_of(Money::units(-50), promised, {}), SavingVerdict::kCostsMore);
}

TEST(Return, IsWhatCameBackOnTheCost) {
  const Return r = return_on(Money::units(200), Money::units(100), Duration::hours(730 * 3));
  EXPECT_EQ(r.saved, Money::units(300));
  EXPECT_DOUBLE_EQ(r.on_cost, 0.5);
  EXPECT_DOUBLE_EQ(r.payback_months.value(), 2);
  EXPECT_FALSE(return_on(Money::units(200), Money::units(-1), kMonth).payback_months);
}

}  // namespace
}  // namespace stint
