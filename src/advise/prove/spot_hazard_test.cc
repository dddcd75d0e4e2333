#include "advise/prove/spot_hazard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stint {
namespace {

TEST(SpotHazard, ExponentialAndWeibullAsTheirFormulas) {
  const SpotHazard exponential = *SpotHazard::exponential(6);
  EXPECT_NEAR(exponential.survival(6), std::exp(-1), 1e-12);
  EXPECT_DOUBLE_EQ(exponential.mean_h(), 6);
  const SpotHazard weibull = *SpotHazard::weibull(10, 0.5);
  EXPECT_NEAR(weibull.survival(40), std::exp(-2), 1e-12) << "√(40/10) = 2";
  EXPECT_NEAR(weibull.mean_h(), 20, 1e-9) << "Γ(3) = 2";
  EXPECT_NEAR(weibull.hours_within(0, 10'000), 20, 1e-3);
  const SpotHazard memoryless = *SpotHazard::weibull(6, 1);
  EXPECT_NEAR(memoryless.hours_within(1, 5), exponential.hours_within(1, 5), 1e-9);
}

TEST(SpotHazard, ABathtubLosesTheYoungAndTheOld) {
  const SpotHazard tub = *SpotHazard::bathtub(0.45, 1, 0.8, 24);
  EXPECT_DOUBLE_EQ(tub.survival(0), 1);
  EXPECT_NEAR(tub.survival(3), 1 - 0.45 * (1 - std::exp(-3)), 1e-9);
  EXPECT_LT(tub.survival(3) - tub.survival(15), 0.03) << "few in the middle";
  EXPECT_GT(tub.survival(20) - tub.survival(24.5), 0.4);
  EXPECT_EQ(tub.survival(26), 0);
}

TEST(SpotHazard, DrawsHaveTheMeanOfTheirSurvival) {
  for (const SpotHazard& hazard :
       {*SpotHazard::exponential(6), *SpotHazard::weibull(8, 0.7), *SpotHazard::bathtub(0.45, 1, 0.8, 24)}) {
    Prng prng(11);
    double sum = 0;
    for (int i = 0; i < 20'000; ++i)
      sum += hazard.draw_h(prng);
    EXPECT_NEAR(sum / 20'000 / hazard.mean_h(), 1, 0.03);
  }
}

// A gang of n is lost with the first of n: against n lives drawn one by one.
TEST(SpotHazard, TheFirstOfManyIsTheLeastOfTheirLives) {
  constexpr int kDraws = 10'000;
  for (const SpotHazard& one : {*SpotHazard::exponential(6), *SpotHazard::weibull(8, 0.7), *SpotHazard::weibull(8, 2),
                                *SpotHazard::bathtub(0.45, 1, 0.8, 24)})
    for (const int members : {1, 3, 16}) {
      const SpotHazard first = one.first_of(members);
      Prng prng(7);
      double sum = 0;
      int beyond = 0;  // the mean
      for (int i = 0; i < kDraws; ++i) {
        double least = one.draw_h(prng);
        for (int m = 1; m < members; ++m)
          least = std::min(least, one.draw_h(prng));
        sum += least;
        if (least > first.mean_h()) ++beyond;
      }
      EXPECT_NEAR(sum / kDraws / first.mean_h(), 1, 0.03) << members;
      EXPECT_NEAR(static_cast<double>(beyond) / kDraws, first.survival(first.mean_h()), 0.012) << members;
      EXPECT_NEAR(first.survival(2), std::pow(one.survival(2), members), 1e-12);
    }
}

// Sixteen machines lose 16 × 0.45 an hour at first: 0.14 h to the first loss and little more. A sixteenth of the mean life, as if they had no
// memory, would be 0.86 h.
TEST(SpotHazard, AGangsMeanIsNoNthOfItsMembers) {
  const SpotHazard one = *SpotHazard::bathtub(0.45, 1, 0.8, 24);
  EXPECT_GT(one.first_of(16).mean_h(), 0.14);
  EXPECT_LT(one.first_of(16).mean_h(), 0.17);
  EXPECT_GT(one.mean_h() / 16, 0.8);
  const SpotHazard ageing = *SpotHazard::weibull(10, 2);
  EXPECT_NEAR(ageing.first_of(16).mean_h(), ageing.mean_h() / 4, 1e-9) << "16^(1/2)";
  const SpotHazard nested = one.first_of(4).first_of(4);
  EXPECT_NEAR(nested.survival(0.3), one.first_of(16).survival(0.3), 1e-12);
}

TEST(SpotHazard, RefusesNonsense) {
  EXPECT_FALSE(SpotHazard::exponential(0).ok());
  EXPECT_FALSE(SpotHazard::weibull(1, 0).ok());
  EXPECT_FALSE(SpotHazard::bathtub(1.5, 1, 1, 24).ok());
}

// Prior: one interruption in 20 h, worth 40 h. Seen: 3 in 10 h. Mean (2 + 3) / (40 + 10).
TEST(InterruptionRate, MovesFromPriorToWhatWasSeen) {
  const InterruptionRate rate = InterruptionRate::prior(0.05, 40).after(3, 10);
  EXPECT_DOUBLE_EQ(rate.mean(), 0.1);
  EXPECT_NEAR(rate.after(1000, 20'000).mean(), 0.05, 0.001);
}

// Gamma(1, h) is exponential: its quantile is −ln(1 − p) / h. A χ² of 10 degrees is Gamma(5, 1/2): 90 % at 15.987.
TEST(InterruptionRate, QuantilesAreThoseOfTables) {
  EXPECT_NEAR((InterruptionRate{1, 2}.quantile(0.9)), std::log(10) / 2, 1e-9);
  EXPECT_NEAR((InterruptionRate{5, 0.5}.quantile(0.9)), 15.987, 1e-3);
  EXPECT_NEAR((InterruptionRate{0.5, 0.5}.quantile(0.95)), 3.841, 1e-3) << "χ² of one degree";
}

TEST(InterruptionRate, DrawsHaveItsMeanAndSpread) {
  for (const InterruptionRate& rate : {InterruptionRate{0.6, 3}, InterruptionRate{5, 50}}) {
    Prng prng(5);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < 40'000; ++i) {
      const double x = rate.draw(prng);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / 40'000;
    EXPECT_NEAR(mean / rate.mean(), 1, 0.03);
    EXPECT_NEAR((squares / 40'000 - mean * mean) / (rate.count / rate.hours / rate.hours), 1, 0.1);
  }
}

}  // namespace
}  // namespace stint
