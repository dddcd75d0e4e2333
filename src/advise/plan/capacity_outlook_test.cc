#include "advise/plan/capacity_outlook.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

/// Expected 10, 11, 12, …; p90 three above, p95 four above.
Forecast rising(size_t steps) {
  Forecast forecast;
  for (size_t i = 0; i < steps; ++i) {
    const double value = 10 + static_cast<double>(i);
    forecast.points.push_back({value, value - 4, value - 3, value + 3, value + 4, true});
  }
  return forecast;
}

TEST(CapacityOutlook, SaysWhenItRunsOutAndWhatIsMissing) {
  const CapacityOutlook o = outlook(rising(10), {CapacityLimit::Kind::kCapacity, 15.5});
  EXPECT_EQ(o.short_p90, kHour * 3);       // 13 + 3 is the first p90 above 15.5
  EXPECT_EQ(o.short_expected, kHour * 6);  // 16
  EXPECT_EQ(o.peak_p90, 22);
  EXPECT_EQ(o.to_buy, 7);  // 6.5, in whole GPUs
  EXPECT_EQ(o.to_release, 0);
}

TEST(CapacityOutlook, ReleasesOnlyWhatEvenThePeakLeaves) {
  const CapacityOutlook o = outlook(rising(10), {CapacityLimit::Kind::kCapacity, 30});
  EXPECT_FALSE(o.short_p90);
  EXPECT_FALSE(o.short_expected);
  EXPECT_EQ(o.to_buy, 0);
  EXPECT_EQ(o.to_release, 7);  // 30 less the p95 peak of 23
}

TEST(CapacityOutlook, SaysHowMuchOfACommitmentIsUsed) {
  // Demand 10, 11, 12 and 13 against 12: 10 + 11 + 12 + 12 of 48 used, 1 beyond it in the last hour.
  const CapacityOutlook o = outlook(rising(4), {CapacityLimit::Kind::kCommitment, 12});
  EXPECT_DOUBLE_EQ(o.used_share(), 45.0 / 48);
  EXPECT_DOUBLE_EQ(o.mean_beyond, 0.25);
  EXPECT_EQ(o.to_release, 0);
  EXPECT_EQ(outlook(rising(4), {CapacityLimit::Kind::kCommitment, 15.5}).to_release, 2);  // 15.5 less 13, whole GPUs
}

}  // namespace
}  // namespace stint
