#include "advise/plan/plan_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"

namespace stint {
namespace {

TEST(PlanSearch, EverySetIsVisitedOnce) {
  std::vector<LeftOut> seen;
  const bool all = for_each_left_out(100, [&](const LeftOut& without) {
    seen.push_back(without);
    std::vector<std::string> rest;
    for (const char* id : {"a", "b", "c"})
      if (!std::ranges::binary_search(without, id)) rest.emplace_back(id);
    return rest;
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(seen.size(), 8U);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 8U);
  EXPECT_TRUE(seen.front().empty());
}

TEST(PlanSearch, WhatAppearsWhenAnotherGoesIsTriedToo) {
  // "late" is there only when "early" is left out.
  std::set<LeftOut> seen;
  for_each_left_out(100, [&](const LeftOut& without) -> std::vector<std::string> {
    seen.insert(without);
    if (without.empty()) return {"early"};
    return without.size() == 1 ? std::vector<std::string>{"late"} : std::vector<std::string>{};
  });
  EXPECT_THAT(seen, testing::ElementsAre(LeftOut{}, LeftOut{"early"}, LeftOut{"early", "late"}));
}

TEST(PlanSearch, TooManySetsAreSaidToBe) {
  size_t visited = 0;
  EXPECT_FALSE(for_each_left_out(5, [&](const LeftOut& without) {
    ++visited;
    return std::vector<std::string>{fmt::format("{}", without.size())};
  }));
  EXPECT_EQ(visited, 5U);
}

TEST(PlanSearch, TheFrontIsWhatNothingDominates) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    std::vector<FrontMark> marks;
    for (uint64_t i = 0; i < 1 + prng.below(12); ++i)
      marks.push_back({Money::units(static_cast<int64_t>(prng.below(6))), static_cast<double>(prng.below(6)), prng.below(3)});
    // By definition: kept when no other is as good in both and better in one; of equals one stands for all.
    std::set<std::pair<int64_t, double>> naive;
    for (const FrontMark& m : marks)
      if (std::ranges::none_of(marks, [&](const FrontMark& o) {
            return o.cost <= m.cost && o.time_s <= m.time_s && (o.cost < m.cost || o.time_s < m.time_s);
          }))
        naive.emplace(m.cost.count_nanos(), m.time_s);
    std::vector<std::pair<int64_t, double>> found;
    for (const size_t i : best_marks(marks, 0))
      found.emplace_back(marks[i].cost.count_nanos(), marks[i].time_s);
    EXPECT_EQ(found, std::vector(naive.begin(), naive.end()));
  }
}

TEST(PlanSearch, ASecondIsNoReasonToPayMore) {
  const std::vector<FrontMark> marks = {{Money::units(1), 100.0, 0}, {Money::units(2), 99.5, 1}, {Money::units(3), 50, 2}};
  EXPECT_THAT(best_marks(marks, 1), testing::ElementsAre(0U, 2U));
}

}  // namespace
}  // namespace stint
