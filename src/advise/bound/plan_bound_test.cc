#include "advise/bound/plan_bound.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"
#include "base/prng.h"

namespace stint {
namespace {

using Use = TestFleet::Use;

Money bound_of(const TestFleet& fleet, Level max_risk = Level::kHigh) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  return fleet_bound({.facts = fleet.facts,
                      .prices = prices,
                      .allowed_regions = fleet.allowed_regions,
                      .longest_term = fleet.longest_term,
                      .savings_plans = fleet.savings_plans,
                      .max_risk = max_risk})
      .work_per_month;
}

Money cost_of(const TestFleet& fleet) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  return Books(fleet.facts, prices).total();
}

void all_gpus_work(NodeFacts& node) {
  for (NodeHour& hour : node.timeline)
    if (hour.on_s > 0) hour.active_gpus = hour.used_gpus = static_cast<uint16_t>(node.gpu_count);
}

TEST(PlanBound, FullMachinesWithoutAnotherOfferCostWhatTheyCost) {
  TestFleet fleet;
  fleet.add("gcp-1", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {{.mean = 95, .p95 = 99, .idle = 1, .memory_gib = 38}});
  EXPECT_NEAR(bound_of(fleet).to_double(), 3.7 * 720, 0.01);
  fleet.allowed_regions = {"europe-*"};
  EXPECT_NEAR(bound_of(fleet).to_double(), 3 * 720, 0.01) << "a region that the data may be in";
}

TEST(PlanBound, SpotCountsWhereTheWorkMayBeOnSpot) {
  TestFleet fleet;
  const std::vector<Use> busy(8, Use{.mean = 95, .p95 = 99, .idle = 1, .memory_gib = 38});
  all_gpus_work(fleet.add("train", "aws", "p4d.24xlarge", WorkloadKind::kTraining, busy));
  EXPECT_LT(bound_of(fleet), usd("5040")) << "7 × 720 h, and what a move takes is not paid";
  EXPECT_GT(bound_of(fleet), usd("4500"));
  EXPECT_NEAR(bound_of(fleet, Level::kLow).to_double(), 22.0 * 720, 0.01) << "spot is of medium risk";
  fleet.facts.nodes[0].checkpointable = false;
  EXPECT_NEAR(bound_of(fleet).to_double(), 22.0 * 720, 0.01);
}

TEST(PlanBound, AnIdleMachineCostsNothingAndAnOwnedOneWhatItCosts) {
  TestFleet fleet;
  NodeFacts& idle =
      fleet.add("idle", "aws", "p3.2xlarge", WorkloadKind::kUnknown, {{.mean = 0, .p95 = 0, .idle = 100, .memory_gib = 0}});
  for (NodeHour& hour : idle.timeline)
    hour.active_gpus = hour.used_gpus = 0;
  EXPECT_EQ(bound_of(fleet), usd("0"));
  fleet.facts.nodes[0].market = Market::kOwned;
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const FleetBound bound = fleet_bound({.facts = fleet.facts,
                                        .prices = prices,
                                        .allowed_regions = {},
                                        .longest_term = {},
                                        .savings_plans = {},
                                        .max_risk = Level::kHigh});
  AuditTotals totals;
  totals.bill_per_month = totals.plan_per_month = cost_of(fleet);
  EXPECT_EQ(bound_of_plan(bound, Books(fleet.facts, prices), totals).per_month, totals.plan_per_month);
}

TEST(PlanBound, ReplicasOfAServiceAddUpWithoutQueues) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c", "d"}) {
    NodeFacts& node = fleet.add(name, "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference,
                                {{.mean = 20, .p95 = 35, .idle = 10, .memory_gib = 8}});
    node.gpus[0].workload = "chat";
    node.gpus[0].hourly_pct.assign(fleet.facts.hour_count, 20.0F);
  }
  // 4 × 20 % of a GPU, above the 8 of 40 GiB that one replica holds.
  EXPECT_NEAR(bound_of(fleet).to_double(), 0.8 * 3.7 * 720, 0.01);
  for (NodeFacts& node : fleet.facts.nodes)
    node.gpus[0].hourly_pct.assign(fleet.facts.hour_count, 1.0F);
  EXPECT_NEAR(bound_of(fleet).to_double(), 0.2 * 3.7 * 720, 0.01) << "one replica's memory";
}

TEST(PlanBound, AServiceMayBeOnAnyTypeItsReplicasAreOn) {
  TestFleet fleet;
  for (const char* name : {"a", "b"}) {
    NodeFacts& node = fleet.add(name, "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference,
                                {{.mean = 20, .p95 = 35, .idle = 10, .memory_gib = 8}});
    node.gpus[0].workload = "chat";
    node.gpus[0].hourly_pct.assign(fleet.facts.hour_count, 20.0F);
  }
  NodeFacts& of_our_own = fleet.facts.nodes[1];
  of_our_own.instance_type = "not-in-the-catalogue";
  of_our_own.compute = usd("720");
  EXPECT_NEAR(bound_of(fleet).to_double(), 0.4 * 1 * 720, 0.01) << "all of it at 1 an hour";
}

TEST(PlanBound, ReasonsSumToTheGap) {
  TestFleet fleet;
  fleet.add("svc", "aws", "p3.8xlarge", WorkloadKind::kRealtimeInference, std::vector<Use>(4));
  fleet.add("train", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<Use>(8));
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const FleetBound bound = fleet_bound({.facts = fleet.facts,
                                        .prices = prices,
                                        .allowed_regions = {},
                                        .longest_term = {},
                                        .savings_plans = {},
                                        .max_risk = Level::kHigh});
  AuditTotals totals;
  totals.bill_per_month = totals.plan_per_month = cost_of(fleet) + usd("100");
  const PlanBound made = bound_of_plan(bound, Books(fleet.facts, prices), totals);
  EXPECT_TRUE(made.holds);
  EXPECT_EQ(made.per_month, bound.work_per_month + usd("100")) << "storage stays";
  Money sum = usd("0");
  for (const NamedAmount& reason : made.reasons) {
    EXPECT_GT(reason.amount, usd("0")) << reason.name;
    sum += reason.amount;
  }
  EXPECT_EQ(sum, made.gap);
  EXPECT_TRUE(std::ranges::is_sorted(made.reasons, std::ranges::greater{}, &NamedAmount::amount));
}

TEST(PlanBound, APlanBelowItIsSaidToDisproveIt) {
  TestFleet fleet;
  fleet.add("gcp-1", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {{.mean = 95, .p95 = 99, .idle = 1, .memory_gib = 38}});
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const FleetBound bound = fleet_bound({.facts = fleet.facts,
                                        .prices = prices,
                                        .allowed_regions = {},
                                        .longest_term = {},
                                        .savings_plans = {},
                                        .max_risk = Level::kHigh});
  Books books(fleet.facts, prices);
  ASSERT_TRUE(books.apply(MoveRegion{{"gcp-1"}, "europe-west4"}).ok()) << "nobody allowed it";
  AuditTotals totals;
  totals.plan_per_month = books.total();
  EXPECT_FALSE(bound_of_plan(bound, books, totals).holds);
}

/// Machines of the test catalogue with random work, hours, markets and prices.
TestFleet random_fleet(Prng& random) {
  TestFleet fleet;
  fleet.commitment_price(CommitmentTerm::kOneYear, PaymentOption::kAllUpfront, "1.5");
  constexpr std::array kTypes = {"g6.xlarge", "p3.2xlarge", "p3.8xlarge", "p4d.24xlarge"};
  constexpr std::array kKinds = {WorkloadKind::kTraining, WorkloadKind::kRealtimeInference, WorkloadKind::kNotebook,
                                 WorkloadKind::kBatchInference, WorkloadKind::kEvaluation};
  const size_t count = 1 + random.below(6);
  for (size_t i = 0; i < count; ++i) {
    const char* type = kTypes[random.below(kTypes.size())];
    const int64_t gpus = fleet.catalog.find_instance("aws", type)->whole_gpus();
    std::vector<Use> use;
    for (int64_t g = 0; g < gpus; ++g) {
      const double p95 = 5 + 90 * random.uniform();
      use.push_back(
          {.mean = p95 * random.uniform(), .p95 = p95, .idle = 90 * random.uniform(), .memory_gib = 1 + 12 * random.uniform()});
    }
    NodeFacts& node = fleet.add(fmt::format("n{}", i), "aws", type, kKinds[random.below(kKinds.size())], use);
    const size_t from = random.below(24), until = from + 1 + random.below(24);
    const bool by_hours = random.below(2) == 0;
    for (size_t h = 0; h < node.timeline.size(); ++h) {
      NodeHour& hour = node.timeline[h];
      const size_t at = h % 24;
      const bool works = !by_hours || (at >= from && at < until) || at + 24 < until;
      hour.active_gpus = works ? static_cast<uint16_t>(1 + random.below(static_cast<uint64_t>(gpus))) : uint16_t{0};
      hour.used_gpus = hour.active_gpus;
      hour.mean_pct = works ? static_cast<float>(*node.mean_pct * 2 * random.uniform()) : 0.0F;
      if (random.below(20) == 0) hour.seen_s = 0;
    }
    if (node.kind == WorkloadKind::kRealtimeInference)
      for (GpuLoad& gpu : node.gpus) {
        gpu.workload = random.below(2) == 0 ? "chat" : node.name;
        for (const NodeHour& hour : node.timeline)
          gpu.hourly_pct.push_back(hour.mean_pct);
      }
    if (random.below(3) == 0) fleet.keep_on(node, [&](size_t h) { return h % 24 >= from; });
  }
  return fleet;
}

/// All findings of the planner one after another, as an audit books them.
Money planned(const TestFleet& fleet, std::vector<std::string>& steps) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  for (const auto finder : {find_stop, find_schedule, find_limit, find_offgpu, find_resize, find_share, find_region, find_spot,
                            find_commit, find_savings_plan}) {
    const Proposals proposals = finder(FleetView{fleet.facts, books, prices, fleet.history, fleet.allowed_regions,
                                                 fleet.longest_term, fleet.savings_plans, nullptr, fleet.commit_on_days});
    for (const Finding& f : proposals.advised) {
      const auto saving = books.saving_of(f.change);
      if (!saving.ok() || saving->count_nanos() <= 0 || !books.apply(f.change).ok()) continue;
      steps.push_back(fmt::format("{}: {}", f.title, saving->to_text()));
    }
  }
  return books.total();
}

TEST(PlanBound, IsNeverAboveAPlanNorBelowZero) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Prng random(seed);
    const TestFleet fleet = random_fleet(random);
    std::vector<std::string> steps;
    const Money plan = planned(fleet, steps);
    const Money bound = bound_of(fleet);
    EXPECT_GE(bound, usd("0")) << "seed " << seed;
    EXPECT_LE(bound, cost_of(fleet)) << "seed " << seed;
    EXPECT_LE(bound, plan) << "seed " << seed << "\n" << fmt::format("{}", fmt::join(steps, "\n"));
  }
}

TEST(PlanBound, FallsWithAPriceMoreAndRisesWithAMachineMore) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Prng random(seed);
    TestFleet fleet = random_fleet(random);
    const double before = bound_of(fleet).to_double();
    TestFleet cheaper = fleet;
    cheaper.commitment_price(CommitmentTerm::kOneYear, PaymentOption::kPartialUpfront, "1");
    EXPECT_LE(bound_of(cheaper).to_double(), before * 1.02 + 0.01) << "seed " << seed;
    fleet.add("more", "aws", "p3.2xlarge", WorkloadKind::kTraining, {{}});
    EXPECT_GE(bound_of(fleet).to_double() * 1.02 + 0.01, before) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stint
