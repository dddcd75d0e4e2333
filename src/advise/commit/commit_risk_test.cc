#include "advise/commit/commit_risk.h"

#include <gtest/gtest.h>

#include "advise/commit/commit_levels.h"
#include "advise/thresholds.h"

namespace stint {
namespace {

/// 60 % of a full term upfront.
CommitMarket market() {
  CommitMarket m;
  m.on_demand = Money::units(1);
  m.offers = {{"", Money::units(432), {}, 720}};
  return m;
}

TEST(CommitRisk, OfASteadyDemandThereIsNone) {
  const HourlyDemand demand(10 * kWeek, 5);
  const CommitRisk risk = assess(market(), *weeks_to_draw(market(), demand), {.count = 5}, {});
  EXPECT_NEAR(risk.saving_pct_p10, 40, 1e-9);
  EXPECT_NEAR(risk.saving_pct_p90, 40, 1e-9);
  EXPECT_EQ(risk.loss_probability, 0);
}

TEST(CommitRisk, OfADemandThatMayFallIsTold) {
  // Half of the weeks without use: all five are paid for, 60 / 50 = 120 % of on-demand at the middle.
  HourlyDemand demand;
  for (int week = 0; week < 8; ++week)
    demand.insert(demand.end(), kWeek, week % 2 == 0 ? 5 : 0);
  const CommitRisk risk = assess(market(), *weeks_to_draw(market(), demand), {.count = 5}, {});
  EXPECT_GT(risk.loss_probability, 0.4);
  EXPECT_LT(risk.saving_pct_p10, risk.saving_pct_p50);
  EXPECT_LT(risk.saving_pct_p50, risk.saving_pct_p90);
  EXPECT_LE(risk.saving_pct_worst5, risk.saving_pct_p10);
}

TEST(CommitRisk, AFallCostsTheIdleHalf) {
  // Ten run for half of the term, five for the rest: 7.5 on average, against 6 for ten commitments. Saved 20 %.
  const HourlyDemand demand(10 * kWeek, 10);
  const auto weeks = *weeks_to_draw(market(), demand);
  EXPECT_NEAR(assess(market(), weeks, {.count = 10}, {.fall = 0.5}).saving_pct_p50, 20, 1e-9);
  // In four rungs the last, after the fall, is not bought: 3, 5, 8, 8 held (a fourth of the term each), fees 0.6 · 24 / 4 = 3.6,
  // on demand (7 + 5 + 0 + 0) / 4 = 3: 6.6 of 7.5, saved 12 %.
  EXPECT_NEAR(assess(market(), weeks, {.count = 10, .rungs = 4}, {.fall = 0.5}).saving_pct_p50, 12, 1e-9);
}

TEST(CommitRisk, IsTheSameForTheSameSeed) {
  HourlyDemand demand(12 * kWeek);
  for (size_t t = 0; t < demand.size(); ++t)
    demand[t] = static_cast<int64_t>(t * 7919 % 23);
  const auto weeks = *weeks_to_draw(market(), demand);
  const CommitRisk a = assess(market(), weeks, {.count = 9}, {.seed = 1}), b = assess(market(), weeks, {.count = 9}, {.seed = 1});
  EXPECT_EQ(a.saving_pct_p10, b.saving_pct_p10);
  EXPECT_EQ(a.saving_pct_worst5, b.saving_pct_worst5);
}

TEST(CommitRisk, DrawsFromTheLastWeeksAlone) {
  HourlyDemand demand(30 * kWeek + 5, 1);
  EXPECT_EQ(weeks_to_draw(market(), demand)->size(), 8 * kWeek);
  EXPECT_EQ(weeks_to_draw(market(), demand)->data() + 8 * kWeek, demand.data() + demand.size());
  EXPECT_FALSE(weeks_to_draw(market(), HourlyDemand(2 * kWeek - 1, 1)).has_value());
}

TEST(PayingCount, IsTheDiscountQuantile) {
  // Demand 1 … 100 once each: k pays when 101 − k of 100 hours is more than 60, so up to 40.
  HourlyDemand demand;
  for (int64_t d = 1; d <= 100; ++d)
    demand.push_back(d);
  EXPECT_EQ(paying_count(market(), demand), 40);
}

// The article's fleet: 20 always on, 30 more for 40 % of the time. On demand that is 32 on average.
TEST(CommitArithmetic, TheClaimedSavingIs41To55Percent) {
  const auto saved = [](double reserved_discount, double spot_discount) {
    return 1 - (20 * (1 - reserved_discount) + 12 * (1 - spot_discount)) / 32;
  };
  EXPECT_NEAR(saved(0.30, 0.60), 0.4125, 1e-12);
  EXPECT_NEAR(saved(0.40, 0.80), 0.55, 1e-12);

  // The reserved part by our own planner and bill: 20 pay, the other 30 do not, at either discount.
  HourlyDemand demand;
  for (int hour = 0; hour < 8760; ++hour)
    demand.push_back(hour % 5 < 2 ? 50 : 20);
  for (const int64_t price_pct : {60, 70}) {
    CommitMarket m;
    m.on_demand = Money::units(1);
    m.offers = {{"", {}, Money::nanos(price_pct * 10'000'000), 8760}};
    EXPECT_EQ(paying_count(m, demand), 20);
    const CommitBill bill = bill_plan(m, demand, {{0, 0, 20}});
    EXPECT_EQ(bill.all_on_demand, Money::units(32 * 8760));
    EXPECT_EQ(bill.on_demand, Money::units(12 * 8760));
    const double spot_discount = price_pct == 70 ? 0.60 : 0.80;
    const double with_spot = bill.hourly.to_double() + bill.on_demand.to_double() * (1 - spot_discount);
    EXPECT_NEAR(1 - with_spot / bill.all_on_demand.to_double(), price_pct == 70 ? 0.4125 : 0.55, 1e-9);
    // Reserving all 50 instead: from 9.4 % dearer to 6.25 % cheaper.
    const double all_reserved = bill_plan(m, demand, {{0, 0, 50}}).total.to_double() / bill.all_on_demand.to_double();
    EXPECT_NEAR(all_reserved, price_pct == 70 ? 1.09375 : 0.9375, 1e-9);
  }
}

}  // namespace
}  // namespace stint
