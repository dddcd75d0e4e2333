#include "advise/plan/plan_rightsize.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using Use = TestFleet::Use;
using testing::SizeIs;

RightsizePlan plan_of(const TestFleet& fleet, const RightsizeOptions& options = {}) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  auto plan = plan_rightsize({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, {}, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return std::move(plan).value();
}

constexpr Use kIdle{.mean = 0, .p95 = 0, .idle = 100, .memory_gib = 0.5};

TEST(PlanRightsize, JobsKeepAMachineEachAndTakeTheCheapestThatFits) {
  TestFleet fleet;
  for (const char* name : {"lab-1", "lab-2"})
    fleet.add(name, "aws", "p3.8xlarge", WorkloadKind::kTraining,
              {Use{.mean = 45, .p95 = 95, .idle = 30, .memory_gib = 11}, kIdle, kIdle, kIdle});
  const RightsizePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.rows, SizeIs(1));
  ASSERT_TRUE(plan.rows[0].best);
  EXPECT_EQ(plan.rows[0].best->type->name, "p3.2xlarge");
  EXPECT_EQ(plan.rows[0].best->count, 2);
  EXPECT_EQ(plan.saving_per_month, usd("13219.2"));  // 2 × (12.24 − 3.06) × 720
  EXPECT_EQ(plan.saving_per_month, fleet.saving(change_of(plan.rows[0])).value());
  EXPECT_FALSE(plan.rows[0].too_small);
}

// 500 requests/s at 200 on a GPU and 20 % headroom are four GPUs (mission D2), whatever telemetry says.
TEST(PlanRightsize, CountFollowsTheDemandThatIsKnown) {
  TestFleet fleet;
  for (int i = 0; i < 8; ++i) {
    NodeFacts& node = fleet.add(fmt::format("serve-{}", i), "aws", "g6.xlarge", WorkloadKind::kRealtimeInference,
                                {Use{.mean = 50, .p95 = 60, .idle = 5, .memory_gib = 12}});
    node.gpus[0].workload = "search";
  }
  const RightsizePlan plan = plan_of(fleet, {.demands = {{"search", {500, 200}}}});
  ASSERT_TRUE(plan.rows[0].best);
  EXPECT_EQ(plan.rows[0].best->type->name, "g6.xlarge");
  EXPECT_EQ(plan.rows[0].best->count, 4);
  EXPECT_EQ(plan.saving_per_month, usd("2304"));  // 4 × 0.8 × 720
  // Without it: 8 × 0.6 × 1.2 = 5.76, so six.
  EXPECT_EQ(plan_of(fleet).rows[0].best->count, 6);
}

// L4 against V100: arithmetic 121/125, memory 300/900. 4 × 0.2 × 1.2 = 0.96 GPUs of a V100 are 2.88 or 0.99 L4.
TEST(PlanRightsize, UncertainThroughputIsAnInterval) {
  TestFleet fleet;
  for (int i = 0; i < 4; ++i) {
    NodeFacts& node = fleet.add(fmt::format("serve-{}", i), "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
                                {Use{.mean = 10, .p95 = 20, .idle = 5, .memory_gib = 12}});
    node.gpus[0].workload = "search";
  }
  const RightsizePlan plan = plan_of(fleet, {.slowest = 4});
  ASSERT_TRUE(plan.rows[0].best);
  const RightsizeTarget& best = *plan.rows[0].best;
  EXPECT_EQ(best.type->name, "g6.xlarge");
  EXPECT_NEAR(best.throughput.low, 300.0 / 900, 1e-12);
  EXPECT_NEAR(best.throughput.high, 121.0 / 125, 1e-12);
  EXPECT_EQ(best.throughput.basis, "estimated");
  EXPECT_EQ(best.count, 3);
  EXPECT_EQ(best.count_best, 2);                    // one would do, two keep it up when a machine fails
  EXPECT_EQ(best.saving_per_month, usd("7084.8"));  // (4 × 3.06 − 3 × 0.8) × 720
  EXPECT_EQ(best.saving_best, usd("7660.8"));       // (4 × 3.06 − 2 × 0.8) × 720
  // A third of the speed is three times the latency: too slow unless that is allowed.
  const RightsizePlan strict = plan_of(fleet);
  ASSERT_TRUE(strict.rows[0].best);
  EXPECT_EQ(strict.rows[0].best->type->name, "p3.2xlarge");
  EXPECT_EQ(strict.rows[0].best->count, 2);
  ASSERT_THAT(strict.rows[0].dropped, SizeIs(1));
  EXPECT_EQ(strict.rows[0].dropped[0].reason, "a request could take 3.0 × as long");
}

TEST(PlanRightsize, MeasuredRatesTakeThePlaceOfDataSheets) {
  TestFleet fleet;
  fleet.add("serve", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
            {Use{.mean = 10, .p95 = 20, .idle = 5, .memory_gib = 12}});
  std::vector<GpuMeasurement> rows;
  for (const auto& [gpu, half, memory] : {std::tuple("V100-16GB", 80.0, 800.0), std::tuple("L4", 60.0, 240.0)}) {
    rows.push_back({.gpu_model = gpu,
                    .rate = GpuRate::k16Bit,
                    .median = half,
                    .lowest = half,
                    .highest = half,
                    .repeats = 9,
                    .source = "t",
                    .as_of = {}});
    rows.push_back({.gpu_model = gpu,
                    .rate = GpuRate::kMemory,
                    .median = memory,
                    .lowest = memory,
                    .highest = memory,
                    .repeats = 9,
                    .source = "t",
                    .as_of = {}});
  }
  fleet.catalog = fleet.catalog.with_measurements(rows).value();
  const RightsizePlan plan = plan_of(fleet, {.slowest = 4});
  ASSERT_TRUE(plan.rows[0].best);
  EXPECT_EQ(plan.rows[0].best->throughput.basis, "measured");
  EXPECT_NEAR(plan.rows[0].best->throughput.low, 0.3, 1e-12);
  EXPECT_NEAR(plan.rows[0].best->throughput.high, 0.75, 1e-12);
}

TEST(PlanRightsize, AServiceInFullMemoryAsksForALargerGpuThoughItCostsMore) {
  TestFleet fleet;
  fleet.add("serve", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
            {Use{.mean = 60, .p95 = 65, .idle = 5, .memory_gib = 15.5}});
  const RightsizePlan plan = plan_of(fleet);
  ASSERT_TRUE(plan.rows[0].best);
  EXPECT_TRUE(plan.rows[0].too_small);
  EXPECT_EQ(plan.rows[0].best->type->name, "p4d.24xlarge");  // 17.05 GiB; an L4 does a third of a V100
  EXPECT_LT(plan.saving_per_month, usd("0"));
}

TEST(PlanRightsize, NothingIsSaidOfMachinesWithoutTelemetry) {
  TestFleet fleet;
  NodeFacts& node = fleet.add("dark", "aws", "p3.8xlarge", WorkloadKind::kTraining, {Use{}, Use{}, Use{}, Use{}});
  node.quality = TelemetryQuality::kPoor;
  const RightsizePlan plan = plan_of(fleet);
  EXPECT_THAT(plan.rows, SizeIs(0));
  EXPECT_THAT(plan.notes, SizeIs(1));
}

TEST(PlanRightsize, DemandOfAnUnknownServiceIsAnError) {
  TestFleet fleet;
  fleet.add("serve", "aws", "g6.xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  EXPECT_FALSE(
      plan_rightsize({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, {}, {.demands = {{"nobody", {1, 1}}}})
          .ok());
}

}  // namespace
}  // namespace stint
