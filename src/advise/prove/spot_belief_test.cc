#include "advise/prove/spot_belief.h"

#include <gmock/gmock.h>

#include "advise/prove/prove.h"
#include "advise/testing_fleet.h"
#include "sim/spot_math.h"

namespace stint {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Machines of eight GPUs in zone a: "spot", which was interrupted 145 times in June's 720 h, and "moving", on demand, with twelve-hour jobs.
TestFleet interrupted_fleet() {
  TestFleet fleet;
  fleet.history.period = kJune;
  for (const std::string name : {"spot", "moving"}) {
    NodeFacts& facts = fleet.add(name, "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<TestFleet::Use>(8));
    facts.zone = "us-east-1a";
    facts.market = name == "spot" ? Market::kSpot : Market::kOnDemand;
    facts.checkpointable = true;
    Node node;
    node.name = name;
    node.provider = "aws";
    node.region = "us-east-1";
    node.zone = "us-east-1a";
    node.instance_type = "p4d.24xlarge";
    node.gpu_model = facts.gpu_model;
    node.gpu_count = 8;
    node.market = facts.market;
    node.kind = WorkloadKind::kTraining;
    fleet.history.nodes.push_back(node);
  }
  const auto add_run = [&](const char* node, Instant begin, Duration length, RunState state) {
    Run run;
    run.id = fmt::format("{}", fleet.history.runs.size());
    run.name = "train";
    run.kind = WorkloadKind::kTraining;
    run.state = state;
    run.submitted = run.started = begin;
    run.ended = begin + length;
    run.allocations = {{node, {}, 8}};
    fleet.history.runs.push_back(std::move(run));
  };
  for (int64_t i = 0; i < 145; ++i)
    add_run("spot", kJune.begin + kHour * (4 * i), Duration::hours(4), RunState::kPreempted);
  for (int64_t day = 0; day < 30; ++day)
    add_run("moving", kJune.begin + kHour * (24 * day), Duration::hours(12), RunState::kCompleted);
  return fleet;
}

// 100 h of prior at 1/20 h are five interruptions: (5 + 145) / (100 + 720).
TEST(SpotBelief, WhatWasSeenInAPlaceMovesThatPlaceAlone) {
  const TestFleet fleet = interrupted_fleet();
  const SpotBelief belief(fleet.history, fleet.facts.nodes);
  const SpotPlace here = {"aws", "us-east-1", "us-east-1a", "p4d.24xlarge"};
  SpotPlace beside = here;
  beside.zone = "us-east-1b";
  EXPECT_EQ(belief.seen(here).interruptions, 145);
  EXPECT_DOUBLE_EQ(belief.seen(here).hours, 720);
  EXPECT_NEAR(belief.rate(here).mean(), 150.0 / 820, 1e-12);
  EXPECT_NEAR(belief.rate(beside).mean(), 0.05, 1e-12);
  EXPECT_THAT(belief_text(belief.rate(here), belief.seen(here)), HasSubstr("every 5.47 h"));
  EXPECT_THAT(belief_text(belief.rate(beside), belief.seen(beside)), HasSubstr("assumed"));
}

// 7 in place of 22 dollars an hour while it is on spot; between two interruptions it is away for an hour with a machine on demand in its place,
// and for six minutes with neither.
TEST(SpotBelief, TheBooksPriceSpotByIt) {
  TestFleet fleet = interrupted_fleet();
  const SwitchMarket change{.nodes = {"moving"}, .to = Market::kSpot};
  const auto cost_of_a_dollar = [&](double per_hour) {
    const double on_spot_h = 1 / per_hour;
    return (on_spot_h * 7 / 22 + 1) / (on_spot_h + 1.1);
  };
  const double paid = fleet.facts.nodes[1].compute.to_double();
  EXPECT_NEAR(fleet.saving(change)->to_double(), paid * (1 - cost_of_a_dollar(0.05)), 1);
  fleet.facts.spot = SpotBelief(fleet.history, fleet.facts.nodes);
  EXPECT_NEAR(fleet.saving(change)->to_double(), paid * (1 - cost_of_a_dollar(150.0 / 820)), 1);
  fleet.facts.nodes[1].zone = "us-east-1b";
  EXPECT_NEAR(fleet.saving(change)->to_double(), paid * (1 - cost_of_a_dollar(0.05)), 1) << "another zone";
}

TEST(SpotBelief, ReplaysDrawInterruptionsFromIt) {
  TestFleet fleet = interrupted_fleet();
  const auto prove = [&] {
    const PriceLookup prices(fleet.catalog, fleet.facts.currency);
    const Books books(fleet.facts, prices);
    return Prover::create(fleet.history, fleet.facts, fleet.catalog, {})
        .value()
        .try_change(SwitchMarket{.nodes = {"moving"}, .to = Market::kSpot}, books);
  };
  const Proof assumed = prove();
  fleet.facts.spot = SpotBelief(fleet.history, fleet.facts.nodes);
  const Proof seen = prove();
  ASSERT_EQ(assumed.verdict, ProofVerdict::kSurvives) << assumed.reason;
  EXPECT_THAT(assumed.notes, Contains(HasSubstr("assumed: nothing was on spot there")));
  EXPECT_THAT(seen.notes, Contains(HasSubstr("145 seen in 720 instance-hours")));
  EXPECT_LT(seen.saving_per_month, assumed.saving_per_month) << "interrupted nearly four times as often";
  EXPECT_GT(seen.completion_pct.mean, assumed.completion_pct.mean);
}

}  // namespace
}  // namespace stint
