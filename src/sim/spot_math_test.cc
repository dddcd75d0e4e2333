#include "sim/spot_math.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

// δ = 1 min, R = 5 min. Expectations: the closed forms evaluated by hand calculator and checked by Monte Carlo.
TEST(SpotMath, MatchesDalyForUsualIntervals) {
  struct Case {
    int64_t hours;
    double interval_h, stretch;
  };
  for (const Case& c : {Case{2, 0.247, 1.190}, Case{6, 0.436, 1.094}, Case{20, 0.805, 1.046}, Case{100, 1.815, 1.019}}) {
    const InterruptionModel model{.mean_between = Duration::hours(c.hours)};
    EXPECT_NEAR(best_checkpoint_interval_h(model), c.interval_h, 0.001) << c.hours;
    EXPECT_NEAR(expected_stretch(model), c.stretch, 0.001) << c.hours;
  }
}

TEST(SpotMath, TheIntervalIsNearTheMinimumOfTheStretch) {
  const InterruptionModel model{.mean_between = Duration::hours(6)};
  const double m = 6, d = 1.0 / 60, r = 5.0 / 60;
  double best = 1e9;
  for (double tau = 0.05; tau < 3; tau += 0.001)
    best = std::min(best, m * std::exp(r / m) * std::expm1((tau + d) / m) / tau);
  EXPECT_LT(expected_stretch(model) / best, 1.0001);
}

// Of 21.1 h: 20 on spot, one away with a machine on demand, five minutes in which that starts and one in which the work moves back.
TEST(SpotMath, TimeIsOnSpotOnDemandOrNeither) {
  const SpotTime time = spot_time(Duration::hours(20));
  EXPECT_NEAR(time.on_spot, 20 / 21.1, 1e-9);
  EXPECT_NEAR(time.on_demand, 1 / 21.1, 1e-9);
}

}  // namespace
}  // namespace stint
