#include "advise/plan/plan_capacity.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

const Instant kNovember = from_civil({.year = 2026, .month = 11});

ForecastPoint point(double expected, double spread) {
  return {.expected = expected,
          .p5 = expected - 1.5 * spread,
          .p10 = expected - spread,
          .p90 = expected + spread,
          .p95 = expected + 1.5 * spread,
          .tested = true};
}

Forecast flat(double expected, double spread, size_t hours) {
  Forecast f;
  f.begin = kNovember;
  f.points.assign(hours, point(expected, spread));
  return f;
}

TEST(PlanCapacity, ChanceIsReadOffTheQuantiles) {
  const ForecastPoint p = point(100, 10);
  EXPECT_DOUBLE_EQ(chance_above(p, 100), 0.5);
  EXPECT_DOUBLE_EQ(chance_above(p, 110), 0.1);
  EXPECT_DOUBLE_EQ(chance_above(p, 105), 0.3);  // half way from 0.5 to 0.1
  EXPECT_DOUBLE_EQ(chance_above(p, 115), 0.05);
  EXPECT_DOUBLE_EQ(chance_above(p, 120), 0.025);  // as far again: half of it
  EXPECT_DOUBLE_EQ(chance_above(p, 85), 0.95);
  EXPECT_DOUBLE_EQ(chance_above(p, 80), 0.975);
  const ForecastPoint sure = point(100, 0);
  EXPECT_DOUBLE_EQ(chance_above(sure, 99.9), 1);
  EXPECT_DOUBLE_EQ(chance_above(sure, 100.1), 0);
}

TEST(PlanCapacity, MonthsAreThoseOfTheCalendar) {
  EXPECT_EQ(months_after(kNovember, 3), from_civil({.year = 2027, .month = 2}));
  EXPECT_EQ(months_after(from_civil({.year = 2027, .month = 1, .day = 31}), 1), from_civil({.year = 2027, .month = 3}));
  const auto plan = plan_capacity(flat(100, 10, 24 * 61), {.capacity = 200});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->size(), 2U);
  EXPECT_EQ((*plan)[0].when, month_of(kNovember));
  EXPECT_EQ((*plan)[1].when.length(), kHour * 24 * 31);
}

TEST(PlanCapacity, BuysWhatHoldsThePeakNineTimesInTen) {
  const auto plan = plan_capacity(flat(100, 10, 720), {.capacity = 104, .unit_hour = Money::units(2)});
  const CapacityMonth& m = plan->front();
  EXPECT_EQ(m.action, CapacityAction::kBuy);
  EXPECT_EQ(m.amount, 6);        // 110 − 104
  EXPECT_EQ(m.amount_low, 0);    // the expected peak fits
  EXPECT_EQ(m.amount_high, 11);  // 115 − 104
  EXPECT_NEAR(m.shortage_at_least, 0.34, 1e-12);
  EXPECT_DOUBLE_EQ(m.shortage_at_most, 1);
  EXPECT_NEAR(m.short_hours, 720 * 0.34, 1e-6);
  EXPECT_EQ(*m.cost, Money::units(6 * 720 * 2));
}

TEST(PlanCapacity, AnIntervalThatThePastCouldNotTryIsNoReasonToBuy) {
  Forecast f = flat(100, 10, 720);
  for (ForecastPoint& p : f.points)
    p.tested = false;
  EXPECT_EQ(plan_capacity(f, {.capacity = 104})->front().action, CapacityAction::kEnough);
  const CapacityMonth short_of = plan_capacity(f, {.capacity = 97})->front();
  EXPECT_EQ(short_of.action, CapacityAction::kBuy) << "what is expected is not there";
  EXPECT_EQ(short_of.amount, 3);
  EXPECT_EQ(short_of.amount_high, 18);
}

TEST(PlanCapacity, AFewShortHoursAreCapped) {
  Forecast f = flat(50, 10, 720);
  for (size_t h = 0; h < 24; ++h)
    f.points[h] = point(100, 10);
  const auto plan = plan_capacity(f, {.capacity = 100});
  EXPECT_EQ(plan->front().action, CapacityAction::kCap);  // 12 of 720 hours
  EXPECT_EQ(plan->front().amount, 10);
  EXPECT_EQ(plan_capacity(f, {.capacity = 100, .capped_share = 0.01})->front().action, CapacityAction::kBuy);
}

TEST(PlanCapacity, ReleasesOnlyWhatNoLaterMonthNeeds) {
  Forecast f = flat(50, 10, 24 * 61);
  for (size_t h = 24 * 30; h < 24 * 61; ++h)
    f.points[h] = point(80, 10);
  const auto plan = plan_capacity(f, {.capacity = 120, .committed = 100});
  ASSERT_EQ(plan->size(), 2U);
  EXPECT_EQ((*plan)[0].action, CapacityAction::kRelease);
  EXPECT_EQ((*plan)[0].amount, 25);  // 120 − (80 + 15), though November needs 65
  EXPECT_EQ((*plan)[0].amount_high, 40);
  EXPECT_DOUBLE_EQ((*plan)[0].committed_used, 0.5);
  EXPECT_DOUBLE_EQ((*plan)[1].committed_used, 0.8);
  const auto tight = plan_capacity(f, {.capacity = 95});
  EXPECT_EQ((*tight)[0].action, CapacityAction::kEnough);
}

TEST(PlanCapacity, OptionsOutOfRangeAreErrors) {
  EXPECT_FALSE(plan_capacity(flat(1, 0, 24), {.capacity = 0}).ok());
  EXPECT_FALSE(plan_capacity(flat(1, 0, 24), {.capacity = 1, .committed = -1}).ok());
  EXPECT_FALSE(plan_capacity(flat(1, 0, 24), {.capacity = 1, .accepted = 0}).ok());
  EXPECT_FALSE(plan_capacity(flat(1, 0, 0), {.capacity = 1}).ok());
}

}  // namespace
}  // namespace stint
