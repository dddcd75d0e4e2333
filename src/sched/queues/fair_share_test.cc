#include "sched/queues/fair_share.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"

namespace stint::sched {
namespace {

ShareClaim claim(int64_t deserved, int64_t request, double weight) {
  return {.deserved = deserved * 1000, .request = request * 1000, .weight = weight};
}

std::vector<int64_t> gpus(int64_t total, std::vector<ShareClaim> claims) {
  ShareResult result = divide_fair_share({.total = total * 1000, .unit = 1000}, claims);
  for (int64_t& share : result.share)
    share /= 1000;
  return result.share;
}

TEST(FairShare, GuaranteesComeFirst) {
  EXPECT_EQ(gpus(8, {claim(6, 8, 0), claim(2, 8, 5)}), (std::vector<int64_t>{6, 2}));
  // Guaranteed more than there is: everybody keeps the promise, nothing remains.
  EXPECT_EQ(gpus(4, {claim(3, 3, 1), claim(3, 3, 1)}), (std::vector<int64_t>{3, 3}));
}

TEST(FairShare, WhatOneDoesNotWantGoesToTheOthersByWeight) {
  // 6 over: portions 1.5, 1.5, 3; the first wants 1, the last unit goes to the largest fraction of 1 × ⅓ and 1 × ⅔.
  EXPECT_EQ(gpus(12, {claim(2, 3, 1), claim(2, 20, 1), claim(2, 20, 2)}), (std::vector<int64_t>{3, 3, 6}));
}

TEST(FairShare, PortionsAreWholeGpusAndTheLargestFractionGetsTheLeftOver) {
  EXPECT_EQ(gpus(7, {claim(0, 9, 1), claim(0, 9, 2), claim(0, 9, 3)}), (std::vector<int64_t>{1, 2, 4}));  // 1.17, 2.33, 3.5
}

TEST(FairShare, HigherQueuePriorityIsServedFirst) {
  auto low = claim(0, 5, 1), high = claim(0, 5, 1);
  high.priority = 1;
  EXPECT_EQ(gpus(6, {low, high}), (std::vector<int64_t>{1, 5}));
}

TEST(FairShare, LimitsHoldAndWeightZeroGetsNothingOver) {
  auto limited = claim(1, 9, 1);
  limited.limit = 3000;
  EXPECT_EQ(gpus(8, {limited, claim(1, 9, 0)}), (std::vector<int64_t>{3, 1}));
}

TEST(FairShare, PastUsageLessensThePortion) {
  // Equal weights, n = ½. The first used 40 %, the second nothing: w = ½ + (½ − 0.4) = 0.6 and ½ + ½ = 1.
  auto heavy = claim(0, 16, 1), light = claim(0, 16, 1);
  heavy.usage = 0.4;
  const auto result = divide_fair_share({.total = 16000, .unit = 1000, .usage_weight = 1}, std::vector{heavy, light});
  EXPECT_EQ(result.share, (std::vector<int64_t>{6000, 10000}));
}

TEST(FairShare, NoQueueGetsMoreThanAUnitBeyondTheWishAndNothingIsCreated) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    std::vector<ShareClaim> claims(1 + random.below(6));
    int64_t guaranteed = 0;
    for (ShareClaim& c : claims) {
      c.deserved = static_cast<int64_t>(random.below(5)) * 500;
      c.request = static_cast<int64_t>(random.below(20)) * 500;
      c.weight = static_cast<double>(random.below(4));
      c.priority = static_cast<int32_t>(random.below(2));
      if (random.below(3) == 0) c.limit = static_cast<int64_t>(random.below(9)) * 1000;
      guaranteed += std::min({c.deserved, c.request, c.limit < 0 ? c.request : c.limit});
    }
    const int64_t total = static_cast<int64_t>(random.below(30)) * 500;
    const ShareResult r = divide_fair_share({.total = total, .unit = 1000}, claims);
    EXPECT_EQ(std::accumulate(r.share.begin(), r.share.end(), r.remaining), std::max(total, guaranteed));
    for (size_t i = 0; i < claims.size(); ++i) {
      const int64_t want = claims[i].limit < 0 ? claims[i].request : std::min(claims[i].limit, claims[i].request);
      EXPECT_LT(r.share[i], want + 1000);
      if (r.remaining > 0 && claims[i].weight > 0) {
        EXPECT_GE(r.share[i], want);
      }
    }
  }
}

TEST(DominantShare, IsTheLargestAndComparesExactly) {
  const std::vector<int64_t> totals = {8000, 64000, 1 << 30};
  const DominantShare a = dominant_share(std::vector<int64_t>{2000, 8000, 1 << 20}, totals);  // a quarter of the GPUs
  const DominantShare b = dominant_share(std::vector<int64_t>{0, 16000, 0}, totals);          // a quarter of the CPUs
  EXPECT_EQ(a, b);
  EXPECT_LT(dominant_share(std::vector<int64_t>{0, 0, 0}, totals), a);
  EXPECT_EQ(dominant_share(std::vector<int64_t>{5}, std::vector<int64_t>{0}).held, 0);
}

}  // namespace
}  // namespace stint::sched
