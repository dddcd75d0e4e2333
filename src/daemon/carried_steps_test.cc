#include "daemon/carried_steps.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Instant kMonday = Instant::from_seconds(1'799'625'600);  // 2027-01-11 00:00 UTC

std::vector<NodeView> machines(std::initializer_list<std::pair<const char*, NodeState>> states) {
  std::vector<NodeView> nodes;
  for (const auto& [name, state] : states) {
    nodes.emplace_back();
    nodes.back().name = name;
    nodes.back().state = state;
  }
  return nodes;
}

/// Off in the first two hours of Monday, and awake.
CarriedChange nights() {
  CarriedChange change{.title = "nights", .by = "ada", .at = kMonday, .machines = {"a", "b"}};
  change.off.set(0).set(1);
  change.rests = false;
  return change;
}

TEST(CarriedSteps, AScheduleRestsInItsHoursOfTheWeek) {
  ASSERT_EQ(weekday(kMonday), 0);
  EXPECT_TRUE(rests_at(nights(), kMonday + kHour));
  EXPECT_FALSE(rests_at(nights(), kMonday + kHour * 2));
  EXPECT_TRUE(rests_at(nights(), kMonday + kHour * 168));
  EXPECT_TRUE(rests_at({.title = "stop", .by = "ada", .at = kMonday, .machines = {"a"}}, kMonday + kHour * 30))
      << "a stop always";
}

// At the edge those that work are drained, and are what the other edge puts up; between the edges nothing is asked.
TEST(CarriedSteps, EachEdgeIsAskedForOnce) {
  CarriedChanges all = {{"C", nights()}};
  const auto steps = carried_steps(all, machines({{"a", NodeState::kUp}, {"b", NodeState::kDown}}), kMonday);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_THAT(steps[0].drain, ElementsAre("a"));
  EXPECT_FALSE(steps[0].intent.is_done);
  EXPECT_EQ(steps[0].before, all.at("C"));
  all.at("C") = steps[0].done;
  // Somebody put it to work again: theirs until the next edge.
  EXPECT_THAT(carried_steps(all, machines({{"a", NodeState::kUp}, {"b", NodeState::kUp}}), kMonday + kHour), IsEmpty());
  const auto woken = carried_steps(all, machines({{"a", NodeState::kDrained}, {"b", NodeState::kUp}}), kMonday + kHour * 2);
  ASSERT_THAT(woken, SizeIs(1));
  EXPECT_THAT(woken[0].up, ElementsAre("a"));
  EXPECT_THAT(woken[0].done.drained, IsEmpty());
}

TEST(StandingAsks, OfSeveralTheLeastAndNothingOfWhatWasTakenBack) {
  CarriedChange one{.title = "fewer", .by = "ada", .at = kMonday, .machines = {"a"}, .replicas = {{"rank", 3}, {"embed", 2}}};
  CarriedChange two = one;
  two.machines = {"b"};
  two.rests = false;
  two.replicas = {{"rank", 2}};
  two.time_limits = {{"evaluate", kHour * 9}};
  CarriedChange back = one;
  back.machines = {"c"};
  back.replicas = {{"embed", 1}};
  back.time_limits = {{"evaluate", kHour}};
  back.undone_at = kMonday;
  const StandingAsks asks = standing_asks({{"A", one}, {"B", two}, {"C", back}});
  EXPECT_THAT(asks.resting, ElementsAre("a"));
  EXPECT_EQ(asks.replicas, (std::map<std::string, int32_t>{{"embed", 2}, {"rank", 2}}));
  EXPECT_EQ(asks.time_limits, (std::map<std::string, Duration>{{"evaluate", kHour * 9}}));
}

TEST(CarriedSteps, WhatAsksForLimitsAloneHasNoSteps) {
  const CarriedChange limits{.title = "limit", .by = "ada", .at = kMonday, .time_limits = {{"evaluate", kHour}}};
  EXPECT_THAT(carried_steps({{"L", limits}}, machines({{"a", NodeState::kUp}}), kMonday), IsEmpty());
}

TEST(CarriedSteps, WhatWasCutShortIsAskedForAgain) {
  CarriedChange cut{.title = "stop", .by = "ada", .at = kMonday, .machines = {"a", "b"}, .drained = {"a", "b"}};
  cut.is_done = false;
  const auto steps = carried_steps({{"C", cut}}, machines({{"a", NodeState::kDrained}, {"b", NodeState::kUp}}), kMonday);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_THAT(steps[0].drain, ElementsAre("b"));
  EXPECT_EQ(steps[0].intent, cut);
  EXPECT_TRUE(steps[0].done.is_done);
  EXPECT_THAT(carried_steps({{"C", cut}}, machines({{"a", NodeState::kUp}}), kMonday), IsEmpty()) << "b is not known yet";
  cut.undone_at = kMonday;
  EXPECT_THAT(carried_steps({{"C", cut}}, machines({{"a", NodeState::kUp}, {"b", NodeState::kUp}}), kMonday), IsEmpty());
}

// A stop carried out at night holds the machine in the morning, and is what puts it up when it is taken back.
TEST(CarriedSteps, WhoeverStillWantsAMachineAtRestTakesItOver) {
  CarriedChange night = nights();
  night.rests = true;
  night.drained = {"a", "b"};
  const CarriedChange stop{.title = "stop", .by = "ada", .at = kMonday, .machines = {"a"}};
  const CarriedChanges all = {{"A", night}, {"B", stop}};
  const auto steps = carried_steps(all, machines({{"a", NodeState::kDrained}, {"b", NodeState::kDrained}}), kMonday + kHour * 2);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_THAT(steps[0].up, ElementsAre("b"));
  ASSERT_THAT(steps[0].others, SizeIs(1));
  EXPECT_THAT(steps[0].others.at("B").drained, ElementsAre("a"));
}

}  // namespace
}  // namespace stint
