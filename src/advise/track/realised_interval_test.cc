#include "advise/track/realised_interval.h"

#include <gtest/gtest.h>

#include <vector>

namespace stint {
namespace {

CostAndWork week(int64_t cost, double work) {
  return {.length = Duration::hours(168), .cost = Money::units(cost), .gpu_hours = work, .gpu_hours_there = 1000};
}

TEST(RealisedInterval, WeeksThatAreAlikeLeaveNoDoubt) {
  const std::vector<CostAndWork> before(3, week(1000, 500));
  const std::vector<CostAndWork> after(2, week(500, 500));
  const auto interval = realised_interval(before, after, 1);
  ASSERT_TRUE(interval.has_value());
  // 500 a week, a month of 730 hours.
  EXPECT_NEAR(interval->p10.to_double(), 500 * 730.0 / 168, 1e-6);
  EXPECT_EQ(interval->p10, interval->p90);
  EXPECT_EQ(interval->weeks_before, 3);
  EXPECT_EQ(interval->weeks_after, 2);
}

TEST(RealisedInterval, WeeksThatDifferSpreadIt) {
  // After: one week in which a GPU-hour costs 1 and one in which it costs 2, as before. Drawn twice: 0, half or all of the better week's
  // saving, a quarter, a half and a quarter of the time: the middle 80 % reaches from one end to the other.
  const std::vector<CostAndWork> before(2, week(1000, 500));
  const std::vector<CostAndWork> after = {week(500, 500), week(1000, 500)};
  const auto interval = realised_interval(before, after, 1, 7, 4'000);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->p10.to_double(), 0, 1e-6);
  EXPECT_NEAR(interval->p90.to_double(), 500 * 730.0 / 168, 1e-6);
}

TEST(RealisedInterval, OneWeekTellsNoSpread) {
  const std::vector<CostAndWork> one(1, week(1000, 500));
  const std::vector<CostAndWork> two(2, week(500, 500));
  EXPECT_FALSE(realised_interval(one, two, 1).has_value());
  EXPECT_FALSE(realised_interval(two, one, 1).has_value());
}

}  // namespace
}  // namespace stint
