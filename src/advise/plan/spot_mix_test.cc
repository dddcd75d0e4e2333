#include "advise/plan/spot_mix.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"

namespace stint {
namespace {

double cost_of(const std::vector<double>& cost, const std::vector<int64_t>& held) {
  double sum = 0;
  for (size_t i = 0; i < cost.size(); ++i)
    sum += cost[i] * static_cast<double>(held[i]);
  return sum;
}

/// The least cost of placing as many units as fit, by trying everything.
double least(const std::vector<double>& cost, size_t pool, int64_t units, int64_t most) {
  if (units == 0) return 0;
  if (pool == cost.size()) return 1e18;
  double best = 1e18;
  for (int64_t n = 0; n <= std::min(units, most); ++n)
    best = std::min(best, static_cast<double>(n) * cost[pool] + least(cost, pool + 1, units - n, most));
  return best;
}

TEST(SpotMix, SpreadIsTheCheapestOfAll) {
  Prng prng(7);  // seed 7
  for (int round = 0; round < 200; ++round) {
    std::vector<double> cost(1 + prng.below(4));
    for (double& c : cost)
      c = 1 + prng.uniform();
    const int64_t most = 1 + static_cast<int64_t>(prng.below(4));
    const int64_t room = most * std::ssize(cost);
    const int64_t units = std::min<int64_t>(room, static_cast<int64_t>(prng.below(10)));
    const auto held = spread_over_pools(cost, units, most);
    EXPECT_EQ(std::accumulate(held.begin(), held.end(), int64_t{0}), units);
    EXPECT_NEAR(cost_of(cost, held), least(cost, 0, units, most), 1e-9) << "seed 7, round " << round;
  }
}

TEST(SpotMix, FullPoolsLeaveTheRest) {
  const std::vector<double> cost = {2, 1};
  EXPECT_EQ(spread_over_pools(cost, 10, 3), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(spread_over_pools(cost, 4, 3), (std::vector<int64_t>{1, 3}));
}

// 10 h of work; on spot 14 h nine times in ten; 12 h until the deadline: half of it.
TEST(SpotMix, TheDeadlineDecidesTheShare) {
  EXPECT_DOUBLE_EQ(share_on_spot(10, 14, 12, 0.9), 0.5);
  EXPECT_DOUBLE_EQ(share_on_spot(10, 14, 14, 0.9), 0.9);
  EXPECT_DOUBLE_EQ(share_on_spot(10, 14, 10, 0.9), 0);
  EXPECT_DOUBLE_EQ(share_on_spot(10, 14, 9, 0.9), 0);
}

}  // namespace
}  // namespace stint
