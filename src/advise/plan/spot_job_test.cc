#include "advise/plan/spot_job.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/spot_math.h"

namespace stint {
namespace {

constexpr SpotJob kJob = {.work_h = 100, .checkpoint_h = 1.0 / 60, .restart_h = 5.0 / 60};

// Daly's closed form counts no restart before the first segment: M·(e^{R/M} − 1) more in ours.
TEST(SpotJob, TheSumOverLivesIsDalysFormulaForAMemorylessHazard) {
  for (const double m : {2.0, 6.0, 20.0})
    for (const double interval : {0.25, 0.5, 2.0}) {
      const double r = kJob.restart_h;
      const double daly = m * std::exp(r / m) * std::expm1((interval + kJob.checkpoint_h) / m) * kJob.work_h / interval;
      EXPECT_NEAR(*expected_paid_h(kJob, *SpotHazard::exponential(m), interval), daly + m * std::expm1(r / m), daly * 1e-6)
          << m << " h between, every " << interval << " h";
    }
}

TEST(SpotJob, DalysFormulaIsWithinOnePercentOfMonteCarlo) {
  const double m = 6;
  const double interval = 0.5;
  const double daly = m * std::exp(kJob.restart_h / m) * std::expm1((interval + kJob.checkpoint_h) / m) * kJob.work_h / interval;
  EXPECT_NEAR(daly, 109.42, 0.01);
  const auto outlook = spot_outlook(kJob, *SpotHazard::exponential(m), interval, std::nullopt, 1, 4000);
  ASSERT_TRUE(outlook.ok());
  EXPECT_NEAR(outlook->paid_h / daly, 1, 0.01);
}

TEST(SpotJob, TheSumOverLivesIsWithinOnePercentOfMonteCarloForEveryHazard) {
  for (const SpotHazard& hazard : {*SpotHazard::weibull(6, 0.6), *SpotHazard::bathtub(0.45, 1, 0.8, 24)}) {
    const auto outlook = spot_outlook(kJob, hazard, 1, std::nullopt, 2, 4000);
    ASSERT_TRUE(outlook.ok());
    EXPECT_NEAR(outlook->paid_h / *expected_paid_h(kJob, hazard, 1), 1, 0.01);
  }
}

TEST(SpotJob, TheNumericIntervalAgreesWithDalyAndYoung) {
  for (const int64_t m : {2, 6, 20}) {
    const double numeric = *best_interval_h(kJob, *SpotHazard::exponential(static_cast<double>(m)));
    const InterruptionModel model{.mean_between = Duration::hours(m)};
    EXPECT_NEAR(numeric / best_checkpoint_interval_h(model), 1, 0.05);
    EXPECT_NEAR(std::sqrt(2 * kJob.checkpoint_h * static_cast<double>(m)) / best_checkpoint_interval_h(model), 1, 0.06);
  }
}

TEST(SpotJob, WaitingCostsTimeAndNoMoney) {
  SpotJob waiting = kJob;
  waiting.mean_wait_h = 2;
  const SpotHazard hazard = *SpotHazard::exponential(6);
  const auto outlook = spot_outlook(waiting, hazard, 0.5, std::nullopt, 3, 4000);
  ASSERT_TRUE(outlook.ok());
  EXPECT_NEAR(outlook->finish_h - outlook->paid_h, 2 * outlook->interruptions, 0.5);
  EXPECT_NEAR(outlook->interruptions, outlook->paid_h / 6, 0.2) << "one per mean life";
  EXPECT_GT(outlook->finish_h_p90, outlook->finish_h);
}

TEST(SpotJob, WhatIsNotKnownOfTheRateWidensTheOutlook) {
  const SpotHazard hazard = *SpotHazard::exponential(6);
  const auto known = spot_outlook(kJob, hazard, 0.5, std::nullopt, 4, 2000);
  const auto guessed = spot_outlook(kJob, hazard, 0.5, InterruptionRate{3, 18}, 4, 2000);
  ASSERT_TRUE(known.ok() && guessed.ok());
  EXPECT_GT(guessed->paid_h_p90 - guessed->paid_h, 1.5 * (known->paid_h_p90 - known->paid_h));
}

TEST(SpotJob, SaysWhenAJobCannotEnd) {
  const SpotHazard day_at_most = *SpotHazard::bathtub(0.45, 1, 0.8, 24);
  EXPECT_EQ(expected_paid_h(kJob, day_at_most, 100), std::nullopt) << "no life holds 100 h in one piece";
  EXPECT_FALSE(spot_outlook({.work_h = 0}, day_at_most, 1, std::nullopt, 1, 1).ok());
}

// Ten minutes of paid start against a warm machine: 15 min of work needs 1 − 15/25, half an hour 1 − 30/40.
TEST(SpotJob, ShortJobsNeedALargeDiscount) {
  EXPECT_NEAR(break_even_discount(0.25, 1, 1.0 / 6, 0), 0.40, 1e-12);
  EXPECT_NEAR(break_even_discount(0.5, 1, 1.0 / 6, 0), 0.25, 1e-12);
  EXPECT_NEAR(break_even_discount(1, 1.05, 1.0 / 6, 0), 1 - 60 / 73.0, 1e-12);
  EXPECT_NEAR(break_even_discount(0.25, 1, 1.0 / 6, 1.0 / 6), 0, 1e-12) << "both cold: no discount is too small";
}

}  // namespace
}  // namespace stint
