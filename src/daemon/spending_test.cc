#include "daemon/spending.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

const Currency kUsd;
Instant at(int64_t minutes) { return Instant::from_seconds(minutes * 60); }

RunView run(int64_t from, std::optional<int64_t> to, int64_t per_hour) {
  RunView view;
  view.gpu_milli = 2'000;
  view.started = at(from);
  if (to) view.ended = at(*to);
  view.rate = Rate::per_hour(Money::units(per_hour, kUsd));
  return view;
}

TEST(Spending, EachPieceHasItsPartOfEveryRun) {
  // Three pieces of an hour. 6 an hour from 0:30 to 1:30; 4 an hour from before the window to 1:00; 2 an hour from 2:15 on.
  const std::vector<RunView> runs = {run(30, 90, 6), run(-600, 60, 4), run(135, std::nullopt, 2)};
  const auto curve = spending_over(runs, {at(0), at(180)}, 3, kUsd);
  ASSERT_EQ(curve.size(), 3U);
  EXPECT_EQ(curve[0].from, at(0));
  EXPECT_EQ(curve[0].cost, Money::units(3 + 4, kUsd));
  EXPECT_EQ(curve[1].from, at(60));
  EXPECT_EQ(curve[1].cost, Money::units(3, kUsd));
  EXPECT_EQ(curve[2].cost, Money::nanos(1'500'000'000, kUsd));
  EXPECT_EQ(curve[0].gpu_milli_ms, int64_t{2'000} * 90 * 60'000);
  EXPECT_EQ(curve[2].gpu_milli_ms, int64_t{2'000} * 45 * 60'000);
}

TEST(Spending, WhatRanOutsideOfTheWindowCostsNothingInIt) {
  const std::vector<RunView> runs = {run(-60, 0, 5), run(60, 90, 5)};
  for (const SpendingPiece& piece : spending_over(runs, {at(0), at(60)}, 7, kUsd)) {
    EXPECT_TRUE(piece.cost.is_zero());
    EXPECT_EQ(piece.gpu_milli_ms, 0);
  }
}

}  // namespace
}  // namespace stint
