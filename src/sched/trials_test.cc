#include "sched/trials.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"

namespace stint::sched {
namespace {

TEST(Asha, RungsGrowByTheReductionUpToTheTop) {
  const Asha a({.first_rung = 1, .most = 81, .reduction = 3});
  ASSERT_EQ(a.rungs(), 5);
  EXPECT_EQ(a.resource_at(3), 27);
  EXPECT_EQ(a.resource_at(4), 81);
  EXPECT_EQ(Asha({.first_rung = 4, .most = 50, .reduction = 4}).rungs(), 3);  // 4, 16, 50
  EXPECT_EQ(Asha({.first_rung = 5, .most = 5, .reduction = 2}).rungs(), 1);
}

TEST(Asha, PromotesTheBestThirdAndNoneTwice) {
  Asha a({.first_rung = 1, .most = 9, .reduction = 3});
  a.report(0, {.trial = 0, .loss_micro = 50});
  a.report(0, {.trial = 1, .loss_micro = 20});
  EXPECT_FALSE(a.promote());  // of two none is the best third
  a.report(0, {.trial = 2, .loss_micro = 90});
  EXPECT_EQ(a.promote()->trial, 1U);
  EXPECT_FALSE(a.promote());
  EXPECT_TRUE(a.is_hopeful(0, 1));
  EXPECT_FALSE(a.is_hopeful(0, 2));
}

TEST(Asha, TiesGoToTheSmallerTrial) {
  Asha a({.first_rung = 1, .most = 9, .reduction = 3});
  for (const uint32_t t : {7U, 3U, 5U})
    a.report(0, {.trial = t, .loss_micro = 10});
  EXPECT_EQ(a.promote()->trial, 3U);
}

/// The algorithm as the paper states it, with everything recomputed from the results each time.
class NaiveAsha {
 public:
  explicit NaiveAsha(int rungs, int64_t reduction) : reduction_(reduction), results_(static_cast<size_t>(rungs)) {}
  void report(int rung, TrialScore s) { results_[static_cast<size_t>(rung)].insert({s.loss_micro, s.trial}); }
  std::optional<std::pair<uint32_t, int>> promote() {
    for (int k = static_cast<int>(results_.size()) - 2; k >= 0; --k) {
      const auto& at = results_[static_cast<size_t>(k)];
      size_t top = at.size() / static_cast<size_t>(reduction_);
      for (auto it = at.begin(); top > 0; ++it, --top)
        if (promoted_.insert({k, it->second}).second) return std::pair(it->second, k + 1);
    }
    return std::nullopt;
  }

 private:
  int64_t reduction_;
  std::vector<std::set<std::pair<int64_t, uint32_t>>> results_;
  std::set<std::pair<int, uint32_t>> promoted_;
};

TEST(Asha, AgreesWithRecomputingEverything) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    const TrialRules rules = {.first_rung = 1, .most = 64, .reduction = 2 + static_cast<int64_t>(random.below(3))};
    Asha fast(rules);
    NaiveAsha naive(fast.rungs(), rules.reduction);
    uint32_t next = 0;
    for (int i = 0; i < 300; ++i) {
      const auto promotion = fast.promote();
      const auto expected = naive.promote();
      ASSERT_EQ(promotion.has_value(), expected.has_value());
      const TrialScore score = {.trial = promotion ? promotion->trial : next,
                                .loss_micro = static_cast<int64_t>(random.below(40))};
      const int rung = promotion ? promotion->to_rung : 0;
      if (promotion) {
        ASSERT_EQ(std::pair(promotion->trial, promotion->to_rung), *expected);
      } else {
        ++next;
      }
      fast.report(rung, score);
      naive.report(rung, score);
    }
  }
}

}  // namespace
}  // namespace stint::sched
