#include "advise/plan/plan_spot.h"

#include <gmock/gmock.h>

#include <cmath>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using Use = TestFleet::Use;
using testing::SizeIs;

SpotPlan plan_of(TestFleet& fleet, const SpotPlanOptions& options = {}) {
  fleet.facts.spot = SpotBelief(fleet.history, fleet.facts.nodes);
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  auto plan = plan_spot({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return std::move(plan).value();
}

/// A p4d.24xlarge (22 on demand, 7 on spot in the test catalogue) of training, all eight GPUs.
NodeFacts& add_trainer(TestFleet& fleet, const std::string& name) {
  NodeFacts& node = fleet.add(name, "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8));
  node.checkpointable = true;
  return node;
}

void add_run(TestFleet& fleet, const std::string& name, const std::vector<std::string>& nodes, Duration begin, Duration length,
             RunState state = RunState::kCompleted) {
  Run run;
  run.id = fmt::format("{}", fleet.history.runs.size());
  run.name = name;
  run.tenant.client = "acme";
  run.kind = WorkloadKind::kTraining;
  run.state = state;
  run.started = kJune.begin + begin;
  run.ended = *run.started + length;
  run.gpus_requested = 8 * std::ssize(nodes);
  for (const std::string& node : nodes)
    run.allocations.push_back({node, {}, 8});
  fleet.history.runs.push_back(std::move(run));
}

// Providers that stop instances at a limit: the same mean life in another shape. A run much shorter than the limit meets the early losses,
// and the exact expectation over that hazard is what the plan's interval must be best for.
TEST(PlanSpot, ABathtubHasTheMeanOfTheBelief) {
  TestFleet fleet;
  add_trainer(fleet, "train");
  add_run(fleet, "llm", {"train"}, Duration::hours(0), Duration::hours(30));
  const SpotPlanOptions options{.prior_hours = 1e6, .bathtub = std::array{0.45, 1.0, 0.8, 24.0}};
  const SpotPlan plan = plan_of(fleet, options);
  ASSERT_THAT(plan.groups, SizeIs(1));
  ASSERT_EQ(plan.groups[0].fit, SpotFit::kFits);
  const SpotHazard shape = SpotHazard::bathtub(0.45, 1, 0.8, 24).value();
  const double k = 20 / shape.mean_h();
  const SpotHazard hazard = SpotHazard::bathtub(0.45, k, 0.8 * k, 24 * k).value();
  EXPECT_NEAR(hazard.mean_h(), 20, 0.01);
  const SpotJob job{
      .work_h = 30, .checkpoint_h = options.checkpoint_h, .restart_h = options.restart_h, .mean_wait_h = options.mean_wait_h};
  EXPECT_NEAR(plan.groups[0].outcome->outlook.paid_h / *expected_paid_h(job, hazard, plan.groups[0].outcome->interval_h), 1,
              0.02);
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  const FleetView view{fleet.facts, books, prices, fleet.history, fleet.allowed_regions};
  EXPECT_FALSE(plan_spot(view, {.weibull = 0.7, .bathtub = options.bathtub}).ok());
  EXPECT_FALSE(plan_spot(view, {.bathtub = std::array{1.5, 1.0, 0.8, 24.0}}).ok());
}

// Certain rate, so the closed form holds: Daly's time and one restart more (spot_job_test.cc), here 20 h between, 1 min, 5 min.
TEST(PlanSpot, CostIsThatOfDalysFormula) {
  TestFleet fleet;
  add_trainer(fleet, "train");
  add_run(fleet, "llm", {"train"}, Duration::hours(0), Duration::hours(100));
  const SpotPlan plan = plan_of(fleet, {.prior_hours = 1e6});
  ASSERT_THAT(plan.groups, SizeIs(1));
  const SpotGroup& g = plan.groups[0];
  ASSERT_EQ(g.fit, SpotFit::kFits);
  EXPECT_EQ(g.run_cost, usd("2200"));
  const double m = 20, d = 1.0 / 60, r = 5.0 / 60, tau = g.outcome->interval_h;
  const double hours = m * std::exp(r / m) * std::expm1((tau + d) / m) * 100 / tau + m * std::expm1(r / m);
  EXPECT_NEAR(g.outcome->outlook.paid_h / hours, 1, 0.01);
  EXPECT_NEAR(g.outcome->cost.to_double(), g.outcome->outlook.paid_h * 7, 1e-6);
  EXPECT_NEAR(tau / g.outcome->daly_interval_h, 1, 0.05);
  EXPECT_GT(g.outcome->outlook.finish_h_p90, g.outcome->outlook.finish_h);
  // 90 % on spot, the rest on demand.
  EXPECT_NEAR(g.saving_per_month.to_double(), 0.9 * (2200 - g.outcome->cost.to_double()), 1e-6);
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(nodes_of(plan.changes[0]), std::vector<std::string>{"train"});
}

// Gamma: 100 h of prior at 1/20 h are 5 interruptions; 7 more in 140 h on spot: 12 in 240 h.
TEST(PlanSpot, InterruptionsSeenMoveTheBelief) {
  TestFleet fleet;
  NodeFacts& node = add_trainer(fleet, "train");
  node.market = Market::kSpot;
  fleet.keep_on(node, [](size_t h) { return h < 140; });
  for (int i = 0; i < 7; ++i)
    add_run(fleet, "llm", {"train"}, Duration::hours(20 * i), Duration::hours(20), RunState::kPreempted);
  const SpotPlan plan = plan_of(fleet);
  ASSERT_THAT(plan.groups[0].pools, SizeIs(testing::Ge(1U)));
  const SpotPool& pool = plan.groups[0].pools[0].pool;
  EXPECT_EQ(pool.interruptions, 7);
  EXPECT_DOUBLE_EQ(pool.watched_h, 140);
  EXPECT_NEAR(pool.rate.mean(), 12.0 / 240, 1e-12);
  EXPECT_THAT(plan.changes, SizeIs(0));  // it is on spot already
  EXPECT_TRUE(plan.groups[0].on_spot_now);
  EXPECT_EQ(plan.groups[0].run_cost, usd("440"));  // 20 h at the list's 22
  EXPECT_TRUE(plan.groups[0].saving_per_month.is_zero());
}

// Starting takes 40 minutes: 15 minutes of work need 1 − 15/55 = 73 % off, and spot is 68 % off.
TEST(PlanSpot, ShortJobsDoNotPayForStarting) {
  TestFleet fleet;
  add_trainer(fleet, "train");
  add_run(fleet, "check", {"train"}, Duration::hours(0), Duration::minutes(15));
  const SpotPlan slow = plan_of(fleet, {.restart_h = 40.0 / 60});
  EXPECT_EQ(slow.groups[0].fit, SpotFit::kTooShort);
  EXPECT_NEAR(slow.groups[0].discount_pct, 100 * 15.0 / 22, 1e-9);
  EXPECT_GT(slow.groups[0].discount_needed_pct, 72.7);
  EXPECT_THAT(slow.changes, SizeIs(0));
  // With ten minutes they need 40 % and a little for interruptions (research: "more than 40 %").
  const SpotPlan quick = plan_of(fleet, {.restart_h = 10.0 / 60, .finish_within = 10});
  EXPECT_EQ(quick.groups[0].fit, SpotFit::kFits);
  EXPECT_GT(quick.groups[0].discount_needed_pct, 40);
  EXPECT_LT(quick.groups[0].discount_needed_pct, 45);
}

// Without checkpoints M·e^{R/M}·(e^{W/M} − 1) at M = 20, W = 60 is 19 × 20 h: dearer than on demand at a third of the price.
TEST(PlanSpot, WorkThatCannotResumeStaysOnDemandUnlessItIsShort) {
  TestFleet fleet;
  add_trainer(fleet, "train").checkpointable = false;
  add_run(fleet, "long", {"train"}, Duration::hours(0), Duration::hours(60));
  add_run(fleet, "short", {"train"}, Duration::hours(100), Duration::hours(5));
  const SpotPlan plan = plan_of(fleet, {.prior_hours = 1e6, .finish_within = 3});
  ASSERT_THAT(plan.groups, SizeIs(2));
  EXPECT_EQ(plan.groups[0].name, "short");
  EXPECT_EQ(plan.groups[0].fit, SpotFit::kFits);
  EXPECT_DOUBLE_EQ(plan.groups[0].outcome->interval_h, 5);
  EXPECT_NEAR(plan.groups[0].outcome->outlook.paid_h / (20 * std::exp(1 / 240.0) * std::expm1(0.25) + 20 * std::expm1(1 / 240.0)),
              1, 0.02);
  EXPECT_EQ(plan.groups[1].fit, SpotFit::kCannotResume);
  EXPECT_THAT(plan.changes, SizeIs(0));  // the machine also does what does not fit
}

TEST(PlanSpot, DeadlinesKeepAShareOnDemandAndInteractiveWorkAll) {
  TestFleet fleet;
  add_trainer(fleet, "train");
  add_run(fleet, "llm", {"train"}, Duration::hours(0), Duration::hours(50));
  fleet.add("notes", "aws", "p3.2xlarge", WorkloadKind::kNotebook, {Use{}});
  const SpotPlan loose = plan_of(fleet);
  const SpotPlan tight = plan_of(fleet, {.finish_within = 1.05});
  const double p90 = tight.groups[0].outcome->outlook.finish_h_p90;
  ASSERT_GT(p90, 52.5);
  EXPECT_DOUBLE_EQ(loose.groups[0].outcome->on_spot, 0.9);
  EXPECT_NEAR(tight.groups[0].outcome->on_spot, 2.5 / (p90 - 50), 1e-9);
  EXPECT_EQ(plan_of(fleet, {.finish_within = 1}).groups[0].fit, SpotFit::kNoTime);
  EXPECT_EQ(loose.groups[1].fit, SpotFit::kInteractive);
  EXPECT_FALSE(loose.groups[1].recorded);
}

TEST(PlanSpot, ConcurrentRunsAreSpreadOverZones) {
  TestFleet fleet;
  for (int i = 0; i < 4; ++i) {
    add_trainer(fleet, fmt::format("train-{}", i)).zone = i % 2 == 0 ? "us-east-1a" : "us-east-1b";
    add_run(fleet, "sweep", {fmt::format("train-{}", i)}, Duration::hours(1), Duration::hours(30));
  }
  const SpotPlan plan = plan_of(fleet);
  ASSERT_THAT(plan.groups, SizeIs(1));
  EXPECT_EQ(plan.groups[0].at_once, 4);
  ASSERT_THAT(plan.groups[0].pools, SizeIs(2));
  EXPECT_EQ(plan.groups[0].pools[0].runs, 2);
  EXPECT_EQ(plan.groups[0].pools[1].runs, 2);
  EXPECT_NE(plan.groups[0].pools[0].pool.zone, plan.groups[0].pools[1].pool.zone);
  // All of a pool at once would be a quarter: four zones are needed, two there: half stays on demand.
  const SpotPlan careful = plan_of(fleet, {.most_at_once = 0.25});
  EXPECT_NEAR(careful.groups[0].outcome->on_spot, 0.45, 1e-9);
}

// A gang of two is lost with either machine: half the time between.
TEST(PlanSpot, AGangIsLostWithAnyOfItsMachines) {
  TestFleet fleet;
  add_trainer(fleet, "train-1");
  add_trainer(fleet, "train-2");
  add_run(fleet, "llm", {"train-1", "train-2"}, Duration::hours(0), Duration::hours(100));
  const SpotPlan plan = plan_of(fleet, {.prior_hours = 1e6});
  const SpotGroup& g = plan.groups[0];
  ASSERT_EQ(g.fit, SpotFit::kFits);
  EXPECT_EQ(g.machines, 2);
  EXPECT_EQ(g.run_cost, usd("4400"));
  EXPECT_NEAR(g.outcome->outlook.interruptions, g.outcome->outlook.paid_h / 10, 0.6);
}

// The same by drawing every machine's life: of a bathtub the first of four is lost far sooner than after a quarter of the mean.
TEST(PlanSpot, AGangUnderABathtubCostsWhatItsMachinesLivesSay) {
  constexpr int kGang = 4;
  TestFleet fleet;
  std::vector<std::string> nodes;
  for (int i = 0; i < kGang; ++i) {
    nodes.push_back(fmt::format("train-{}", i));
    add_trainer(fleet, nodes.back());
  }
  add_run(fleet, "llm", nodes, Duration::hours(0), Duration::hours(30));
  const SpotPlanOptions options{.prior_hours = 1e6, .bathtub = std::array{0.45, 1.0, 0.8, 24.0}, .finish_within = 20};
  const SpotPlan plan = plan_of(fleet, options);
  ASSERT_EQ(plan.groups[0].fit, SpotFit::kFits);
  const SpotOutcome& outcome = *plan.groups[0].outcome;
  const double k = 20 / SpotHazard::bathtub(0.45, 1, 0.8, 24)->mean_h();
  const SpotHazard one = SpotHazard::bathtub(0.45, k, 0.8 * k, 24 * k).value();
  Prng prng(3);
  double paid = 0;
  constexpr int kTrials = 4'000;
  for (int t = 0; t < kTrials; ++t) {
    double left_h = 30;
    while (left_h > 1e-9) {
      double life_h = one.draw_h(prng);
      for (int m = 1; m < kGang; ++m)
        life_h = std::min(life_h, one.draw_h(prng));
      double saved = 0;
      double at = options.restart_h;
      while (left_h - saved > 1e-9 && at + outcome.interval_h + options.checkpoint_h <= life_h) {
        at += outcome.interval_h + options.checkpoint_h;
        saved += outcome.interval_h;
      }
      left_h -= saved;
      paid += left_h > 1e-9 ? life_h : at;
    }
  }
  EXPECT_NEAR(outcome.outlook.paid_h / (paid / kTrials), 1, 0.02);
}

TEST(PlanSpot, OptionsOutOfRangeAreErrors) {
  TestFleet fleet;
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  const FleetView view{fleet.facts, books, prices, fleet.history, fleet.allowed_regions};
  EXPECT_FALSE(plan_spot(view, {.checkpoint_h = 0}).ok());
  EXPECT_FALSE(plan_spot(view, {.finish_within = 0.5}).ok());
  EXPECT_FALSE(plan_spot(view, {.most_at_once = 0}).ok());
  EXPECT_FALSE(plan_spot(view, {.trials = 0}).ok());
}

}  // namespace
}  // namespace stint
