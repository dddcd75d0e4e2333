#include "model/change_algebra.h"

#include <gtest/gtest.h>

#include "model/fleet_plan.h"
#include "model/testing_changes.h"

namespace stint {
namespace {

using testing::kChangeKinds;
using testing::random_change;
using testing::random_fleet;

const std::vector<std::string> kNames = {"n0", "n1", "n2", "n3"};

/// The fleet after the changes, or none when one of them cannot be made.
std::optional<FleetPlan> after(FleetPlan fleet, std::vector<Change> changes) {
  for (const Change& change : changes)
    if (!carry_out(fleet, change).ok()) return std::nullopt;
  return fleet;
}

TEST(FleetPlan, ApplyThenUndoGivesTheFleetBackForEveryKind) {
  for (uint64_t seed = 1; seed <= 60; ++seed)
    for (size_t kind = 0; kind < kChangeKinds; ++kind) {
      SCOPED_TRACE(fmt::format("seed {} kind {}", seed, kind));
      Prng prng(seed * 100 + kind);
      FleetPlan fleet = random_fleet(prng, kNames.size());
      // Not only fleets that nothing happened to yet.
      for (int i = 0; i < 3; ++i)
        (void)carry_out(fleet, random_change(prng, prng.below(kChangeKinds), kNames)).ok();
      const FleetPlan before = fleet;
      const auto done = carry_out(fleet, random_change(prng, kind, kNames));
      if (!done.ok()) {
        EXPECT_EQ(fleet, before);
        continue;
      }
      const Status undone = undo(fleet, *done);
      ASSERT_TRUE(undone.ok()) << undone.error().message;
      EXPECT_EQ(fleet, before);
    }
}

TEST(FleetPlan, UndoLeavesWhatOthersDidSinceAndRefusesWhatTheyOverruled) {
  Prng prng(1);
  FleetPlan fleet = random_fleet(prng, 2);
  fleet.nodes[0].market = Market::kOnDemand;
  const FleetPlan before = fleet;
  const auto spot = carry_out(fleet, SwitchMarket{{"n0"}, Market::kSpot});
  WeekHours night;
  night.set(3);
  ASSERT_TRUE(carry_out(fleet, ScheduleOff{{"n0"}, night}).ok());
  ASSERT_TRUE(undo(fleet, *spot).ok());
  EXPECT_EQ(fleet, after(before, {ScheduleOff{{"n0"}, night}}));

  ASSERT_TRUE(carry_out(fleet, SwitchMarket{{"n0"}, Market::kSpot}).ok());
  const auto again = carry_out(fleet, SwitchMarket{{"n1"}, Market::kOnDemand});
  ASSERT_TRUE(carry_out(fleet, StopNodes{{"n1"}}).ok());
  if (!again->nodes.empty()) {
    EXPECT_FALSE(undo(fleet, *again).ok()) << "the node is gone";
  }
}

TEST(ChangeAlgebra, WhatCommutesGivesTheSameFleetInEitherOrder) {
  int yes = 0;
  int no = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Prng prng(seed);
    const FleetPlan fleet = random_fleet(prng, kNames.size());
    const Change a = random_change(prng, prng.below(kChangeKinds), kNames);
    const Change b = random_change(prng, prng.below(kChangeKinds), kNames);
    ASSERT_EQ(commute(a, b), commute(b, a)) << describe(a) << " | " << describe(b);
    if (!commute(a, b)) {
      ++no;
      continue;
    }
    ++yes;
    ASSERT_EQ(after(fleet, {a, b}), after(fleet, {b, a})) << describe(a) << " | " << describe(b);
  }
  EXPECT_GT(yes, 2000);  // else the rule says no to everything
  EXPECT_GT(no, 500);
}

TEST(ChangeAlgebra, SaysNoWhereTheOrderMatters) {
  const Change stop = StopNodes{{"n0"}};
  const Change spot = SwitchMarket{{"n0"}, Market::kSpot};
  EXPECT_FALSE(commute(stop, spot));
  EXPECT_FALSE(commute(spot, SwitchMarket{{"n0"}, Market::kOnDemand}));
  EXPECT_FALSE(commute(spot, Commit{"aws", "us-east-1", "t", 1, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"n0"}}));
  EXPECT_FALSE(commute(spot, Commit{"aws", "", "t", 1, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {}}));
  EXPECT_TRUE(commute(spot, spot));
  EXPECT_FALSE(commute(stop, stop));
  EXPECT_TRUE(commute(stop, StopNodes{{"n1"}}));
  WeekHours night;
  night.set(2);
  EXPECT_TRUE(commute(spot, ScheduleOff{{"n0"}, night}));
}

TEST(ChangeAlgebra, ContradictionsNameTheNode) {
  const std::vector<Change> changes = {
      SwitchMarket{{"n0", "n1"}, Market::kSpot}, SwitchMarket{{"n1"}, Market::kOnDemand}, StopNodes{{"n2"}},
      MoveRegion{{"n2"}, "eu-west-1"},           ResizeNodes{{"n3"}, "a", "", 1},         ResizeNodes{{"n3"}, "b", "", 1}};
  const auto found = contradictions(changes);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].what, "'n1' goes to spot and to on-demand");
  EXPECT_EQ(found[1].what, "'n2' is given back by the first (stop)");
  EXPECT_EQ(found[2].what, "'n3' becomes another machine twice");
  EXPECT_EQ(found[2].first, 4U);
  EXPECT_EQ(found[2].second, 5U);
}

}  // namespace
}  // namespace stint
