#include "sched/usage_decay.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stint::sched {
namespace {

Instant at(int64_t hours) { return Instant::from_seconds(1'800'000'000) + Duration::hours(hours); }

TEST(DecayedUsage, HalvesEveryHalfLife) {
  DecayedUsage usage(Duration::hours(24), at(0));
  usage.add(at(1), 8);
  const double then = usage.at(at(1));
  EXPECT_NEAR(then, 8 * 3600, 8 * 3600 * 0.02);  // an hour of a day's half-life has hardly faded
  EXPECT_NEAR(usage.at(at(25)), then / 2, 1e-9 * then);
  EXPECT_NEAR(usage.at(at(49)), then / 4, 1e-9 * then);
}

TEST(DecayedUsage, SplittingAnIntervalChangesNothing) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    DecayedUsage whole(Duration::hours(10), at(0)), split(Duration::hours(10), at(0));
    whole.add(at(100), 3);
    Instant t = at(0);
    while (t < at(100)) {
      t = std::min(at(100), t + Duration::minutes(1 + static_cast<int64_t>(random.below(600))));
      split.add(t, 3);
    }
    EXPECT_NEAR(split.at(at(120)), whole.at(at(120)), 1e-9 * whole.at(at(120)));
  }
}

TEST(DecayedUsage, AClusterFullForEverIsOne) {
  DecayedUsage usage(Duration::hours(5), at(0));
  usage.add(at(1000), 16);
  EXPECT_NEAR(usage.fraction_of(16, at(1000)), 1, 1e-9);
  EXPECT_NEAR(usage.fraction_of(32, at(1005)), 0.25, 1e-9);
}

TEST(DecayedUsage, WithoutHalfLifeThePastDoesNotCount) {
  DecayedUsage usage(Duration(), at(0));
  usage.add(at(5), 16);
  EXPECT_EQ(usage.fraction_of(16, at(5)), 0);
}

}  // namespace
}  // namespace stint::sched
