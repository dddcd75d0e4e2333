#include "advise/goals.h"

#include <gmock/gmock.h>

#include "advise/share/interference.h"
#include "advise/share/share_latency.h"
#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(Goals, AreOneALineWithTheirDirection) {
  const auto goals = parse_goals("# the story\n\n cost <= 18000\r\nsaving-of:switch-market>=70%\np99<=100%").value();
  ASSERT_EQ(goals.size(), 3U);
  EXPECT_EQ(goals[0].measure, GoalMeasure::kCost);
  EXPECT_DOUBLE_EQ(goals[0].bound, 18'000);
  EXPECT_EQ(goals[0].text, "cost<=18000");
  EXPECT_EQ(goals[1].change_kind, "switch-market");
  EXPECT_EQ(goals[2].measure, GoalMeasure::kLatencyP99);
}

TEST(Goals, PromisesAreOfOneServiceInMilliseconds) {
  const auto goals = parse_goals("p99:search<=80ms\np99:team/rank <= 12.5ms\np99:search<=60ms").value();
  ASSERT_EQ(goals.size(), 3U);
  EXPECT_EQ(goals[0].measure, GoalMeasure::kServiceP99);
  EXPECT_EQ(goals[0].service, "search");
  EXPECT_DOUBLE_EQ(goals[1].bound, 12.5);
  EXPECT_THAT(parse_goal("p99:search<=80").error().message, HasSubstr("milliseconds, such as 80ms"));
  EXPECT_THAT(parse_goal("p99:search<=80%").error().message, HasSubstr("milliseconds"));
  EXPECT_THAT(parse_goal("p99:<=80ms").error().message, HasSubstr("expected a service"));
  EXPECT_THAT(parse_goal("p99:search>=80ms").error().message, HasSubstr("a goal with <="));
  EXPECT_THAT(parse_goal("cost<=80ms").error().message, HasSubstr("no goal"));
}

TEST(Goals, WhatIsNoGoalIsSaidWithItsLine) {
  EXPECT_THAT(parse_goals("cost<=1\ncost>=2").error().message, HasSubstr("line 2: 'cost>=2': cost is a goal with <="));
  EXPECT_THAT(parse_goal("saving>=58").error().message, HasSubstr("expected a percentage"));
  EXPECT_THAT(parse_goal("cost<=58%").error().message, HasSubstr("expected an amount"));
  EXPECT_THAT(parse_goal("saving-of:magic>=5%").error().message, HasSubstr("no kind of change"));
  for (const char* text : {"", "cost", "cost<", "cost<=", "cost<=-1", "cost<=0", "cost<=nan", "fame>=3%", "cost=<5"})
    EXPECT_FALSE(parse_goal(text).ok()) << text;
}

/// A service that uses 70 % of the SMs and 30 % of the bandwidth while it runs, on 3g.20gb: 3/7 of the one, half of the other.
TEST(ShareLatency, IsByWhatARequestKeepsBusyWhileItRuns) {
  TestFleet fleet;
  NodeFacts& node = fleet.add("a", "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, {{}, {}});
  node.gpus[0].sm_while_busy = 0.7;
  node.gpus[0].memory_while_busy = 0.3;
  ShareGpus change{.mode = SharingMode::kMig, .nodes = {"a"}, .keep = {"a"}, .placements = {}};
  change.placements = {{"s", "a", 0, "a", 0, "3g.20gb", 0, 0}, {"t", "a", 1, "a", 0, "2g.10gb", 4, 0}};
  const auto latency = latency_on_shares(change, fleet.facts);
  ASSERT_EQ(latency.size(), 2U);
  EXPECT_TRUE(latency[0].measured);
  EXPECT_DOUBLE_EQ(latency[0].most, 0.7 / (3.0 / 7));
  EXPECT_DOUBLE_EQ(latency[0].least, latency[0].most);
  // The other was not measured: from as long as now to all of a GPU's bandwidth in 2/8 of it.
  EXPECT_FALSE(latency[1].measured);
  EXPECT_DOUBLE_EQ(latency[1].least, 1);
  EXPECT_DOUBLE_EQ(latency[1].most, 4);
  const LatencyRange worst = worst_of(latency);
  EXPECT_DOUBLE_EQ(worst.least, 0.7 / (3.0 / 7));
  EXPECT_DOUBLE_EQ(worst.most, 4);
  // Narrow requests do not notice.
  fleet.facts.nodes[0].gpus[0].sm_while_busy = 0.2;
  EXPECT_DOUBLE_EQ(latency_on_shares(change, fleet.facts)[0].most, 1);
}

TEST(ShareLatency, SideBySideARequestMayTakeAsLongAsMeasuredPairsDo) {
  TestFleet fleet;
  fleet.add("a", "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, {{}, {}, {}});
  ShareGpus change{.mode = SharingMode::kMps, .nodes = {"a"}, .keep = {"a"}, .placements = {}};
  change.placements = {{"s", "a", 0, "a", 0, "", -1, 0}, {"t", "a", 1, "a", 0, "", -1, 0}, {"u", "a", 2, "a", 1, "", -1, 0}};
  const auto latency = latency_on_shares(change, fleet.facts);
  EXPECT_DOUBLE_EQ(latency[0].most, kMostSlowedByNeighbour);
  EXPECT_FALSE(latency[0].measured);
  EXPECT_DOUBLE_EQ(latency[2].most, 1);
  EXPECT_TRUE(latency[2].measured);
  change.mode = SharingMode::kTimeSlice;
  EXPECT_DOUBLE_EQ(latency_on_shares(change, fleet.facts)[0].most, 2) << "turns of two";
}

}  // namespace
}  // namespace stint
