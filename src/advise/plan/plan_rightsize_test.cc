#include "advise/plan/plan_rightsize.h"

#include <gmock/gmock.h>

#include "advise/find/finder.h"
#include "advise/testing_fleet.h"

namespace stint {
namespace {

using Use = TestFleet::Use;
using testing::SizeIs;

RightsizePlan plan_of(const TestFleet& fleet, const RightsizeOptions& options = {}) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  auto plan = plan_rightsize({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, options);
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
  // Without it: 8 × 0.6 × 1.2 = 5.76, so six by room. Replayed, 4 of them are busy: on eight one request in seventeen finds none free (Erlang's
  // C), on seven one in seven, on six more than one in four, and p99 grows by more than a quarter.
  fleet.facts.unpromised_pct = 125;
  EXPECT_EQ(plan_of(fleet).rows[0].best->count, 7);
}

// Eight replicas of which 0.4 are busy: on three one request in 116 finds none free (Erlang's C), so p99 is that of a request by itself, as it is on
// eight; on two one in fifteen waits. Eight at half load make requests wait now, and longer with any less.
TEST(PlanRightsize, WithoutAPromiseP99StaysAsItIs) {
  for (const auto& [busy_pct, kept] : {std::pair(5.0, 3), std::pair(50.0, 8)}) {
    TestFleet fleet;
    for (int i = 0; i < 8; ++i)
      fleet
          .add(fmt::format("serve-{}", i), "aws", "g6.xlarge", WorkloadKind::kRealtimeInference,
               {Use{.mean = busy_pct, .p95 = busy_pct, .idle = 5, .memory_gib = 12}})
          .gpus[0]
          .workload = "search";
    const RightsizePlan plan = plan_of(fleet);
    ASSERT_EQ(plan.rows[0].best.has_value(), kept < 8) << busy_pct;
    if (plan.rows[0].best) {
      EXPECT_EQ(plan.rows[0].best->count, kept);
    }
  }
}

// Eight at half load: with seven p99 takes longer than now, by less than a quarter. A promise that nothing gets slower forbids it, one that half as
// much again is enough allows six.
TEST(PlanRightsize, AGoalInPercentDecidesHowManyAreKept) {
  TestFleet fleet;
  for (int i = 0; i < 8; ++i)
    fleet
        .add(fmt::format("serve-{}", i), "aws", "g6.xlarge", WorkloadKind::kRealtimeInference,
             {Use{.mean = 50, .p95 = 60, .idle = 5, .memory_gib = 12}})
        .gpus[0]
        .workload = "search";
  fleet.facts.unpromised_pct = 125;
  EXPECT_EQ(plan_of(fleet).rows[0].best->count, 7);
  fleet.facts.promised_pct = 100;
  EXPECT_FALSE(plan_of(fleet).rows[0].best);
  fleet.facts.promised_pct = 150;
  EXPECT_EQ(plan_of(fleet).rows[0].best->count, 6);
}

// Each of eight machines is off for half of the day: all in the mornings, or four of them in the evenings. The hours of each are as many, and
// so is what each costs; six machines in their place are on for other hours.
TEST(PlanRightsize, WhatIsRememberedIsOfTheSameHours) {
  TestFleet fleet;
  std::vector<std::string> first, second;
  for (int i = 0; i < 8; ++i) {
    fleet
        .add(fmt::format("serve-{}", i), "aws", "g6.xlarge", WorkloadKind::kRealtimeInference,
             {Use{.mean = 50, .p95 = 60, .idle = 5, .memory_gib = 12}})
        .gpus[0]
        .workload = "search";
    (i < 4 ? first : second).push_back(fmt::format("serve-{}", i));
  }
  fleet.facts.promised_pct = 150;
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  WeekHours mornings;
  for (size_t hour = 0; hour < mornings.size(); ++hour)
    mornings.set(hour, hour % 24 < 12);
  RightsizeMemo memo;
  const auto saving = [&](const WeekHours& of_second, RightsizeMemo* remembered) {
    Books books(fleet.facts, prices);
    EXPECT_TRUE(books.apply(ScheduleOff{first, mornings}).ok());
    EXPECT_TRUE(books.apply(ScheduleOff{second, of_second}).ok());
    FleetView view{fleet.facts, books, prices, fleet.history, fleet.allowed_regions};
    view.memo = remembered;
    auto plan = plan_rightsize(view, RightsizeOptions());
    EXPECT_TRUE(plan.ok());
    return plan->saving_per_month;
  };
  const WeekHours evenings = ~mornings;
  EXPECT_NE(saving(mornings, nullptr), saving(evenings, nullptr)) << "else this shows nothing";
  for (const WeekHours& hours : {mornings, evenings, mornings})
    EXPECT_EQ(saving(hours, &memo), saving(hours, nullptr));
}

// Eight replicas busy for 60 % of the time in batches of mostly one: with the curve measured the plan keeps fewer than without, as p99 allows.
TEST(PlanRightsize, AMeasuredBatchCurveKeepsFewer) {
  TestFleet fleet;
  for (int i = 0; i < 8; ++i) {
    NodeFacts& node = fleet.add(fmt::format("serve-{}", i), "aws", "g6.xlarge", WorkloadKind::kRealtimeInference,
                                {Use{.mean = 60, .p95 = 60, .idle = 5, .memory_gib = 12}});
    node.gpus[0].workload = "search";
    node.gpus[0].hourly_pct.assign(kJuneHours, 60.0F);
  }
  fleet.facts.unpromised_pct = 150;
  const auto kept = [&] {
    const RightsizePlan plan = plan_of(fleet);
    return plan.rows[0].best ? plan.rows[0].best->count : 8;
  };
  const int64_t without = kept();
  EXPECT_GE(without, 6) << "8 × 0.6 × 1.2 = 5.76";
  const batching::BatchingReplica replica{{10, 11, 12, 13, 14, 15, 16, 17}};
  const auto table = std::make_shared<const batching::BatchTable>(replica);
  add_batch_curves(fleet.facts, {{"search", table}});
  const int64_t with = kept();
  EXPECT_LT(with, without);
  // A second method: p99 of the model at the rate that so many, and one fewer, get.
  const auto p99 = [&](int64_t replicas) {
    const double share = table->share_at(0.6) * 8 / static_cast<double>(replicas);
    return batching::slowest_response_ms(replica, share * batching::most_per_second(replica), 100);
  };
  EXPECT_LE(p99(with), 1.55 * p99(8));
  EXPECT_TRUE(with == 2 || p99(with - 1) > 1.45 * p99(8)) << with;
}

TEST(PlanRightsize, SaysWhichPromisesCannotBeHeld) {
  TestFleet fleet;
  fleet.add("serve", "aws", "g6.xlarge", WorkloadKind::kRealtimeInference, {Use{}});
  fleet.facts.promises_ms = {{"serve-service", 80}, {"serch", 50}};
  fleet.facts.promise_notes = {"a tag that cannot be read"};
  EXPECT_THAT(plan_of(fleet).notes,
              testing::ElementsAre("a tag that cannot be read",
                                   testing::HasSubstr("50 ms is promised of 'serch': no service has that name"),
                                   testing::HasSubstr("80 ms is promised of serve-service, but how long")));
}

// L4 against V100: arithmetic 121/125, memory 300/900. 4 × 0.2 × 1.2 = 0.96 GPUs of a V100 are 2.88 or 0.99 L4.
TEST(PlanRightsize, UncertainThroughputIsAnInterval) {
  TestFleet fleet;
  for (int i = 0; i < 4; ++i) {
    NodeFacts& node = fleet.add(fmt::format("serve-{}", i), "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
                                {Use{.mean = 10, .p95 = 20, .idle = 5, .memory_gib = 12}});
    node.gpus[0].workload = "search";
  }
  fleet.facts.unpromised_pct = 400;
  const RightsizePlan plan = plan_of(fleet);
  ASSERT_TRUE(plan.rows[0].best);
  const RightsizeTarget& best = *plan.rows[0].best;
  EXPECT_EQ(best.type->name, "g6.xlarge");
  EXPECT_NEAR(best.throughput.low, 300.0 / 900, 1e-12);
  EXPECT_NEAR(best.throughput.high, 121.0 / 125, 1e-12);
  EXPECT_EQ(best.throughput.basis, "estimated");
  // Room is on three; replayed, 1.2 of them are busy and p99 takes more than 4 × as long as now: four are wanted.
  EXPECT_EQ(best.count, 4);
  EXPECT_EQ(best.count_best, 2);                    // one would do, two keep it up when a machine fails
  EXPECT_EQ(best.saving_per_month, usd("6508.8"));  // (4 × 3.06 − 4 × 0.8) × 720
  EXPECT_EQ(best.saving_best, usd("7660.8"));       // (4 × 3.06 − 2 × 0.8) × 720
  // A third of the speed is three times the latency: too slow unless that is allowed.
  fleet.facts.unpromised_pct = 125;
  const RightsizePlan strict = plan_of(fleet);
  ASSERT_TRUE(strict.rows[0].best);
  EXPECT_EQ(strict.rows[0].best->type->name, "p3.2xlarge");
  // 0.4 busy: on three one request in 116 finds none free (Erlang's C), on two one in fifteen, and p99 is 1 + (1 − √(0.01/0.067)) = 1.6 of it.
  EXPECT_EQ(strict.rows[0].best->count, 3);
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
  fleet.facts.unpromised_pct = 600;
  const RightsizePlan plan = plan_of(fleet);
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
  EXPECT_EQ(plan.saving_per_month, usd("0"));
  EXPECT_GT(plan.growth_per_month, usd("0"));
}

/// Machines with one L40S, of two sizes; a slower GPU, a faster one; an A100 of 80 GiB and of 40.
Catalog serving_catalog() {
  constexpr std::string_view kGpus =
      "model,aliases,vendor,architecture,memory_gib,memory_bandwidth_gb_s,fp32_tflops,tf32_tflops,fp16_tflops,bf16_tflops,fp8_"
      "tflops,int8_tops,tdp_w,link_gb_s,mig,source,as_of\n"
      "L40S,,NVIDIA,Ada Lovelace,48,864,91.6,183,362,362,733,733,350,,no,data sheet,2023-01-01\n"
      "T4,,NVIDIA,Turing,16,320,8.1,,65,,,130,70,,no,data sheet,2018-01-01\n"
      "H100-80GB,,NVIDIA,Hopper,80,3350,67,494,989,989,1979,1979,700,900,yes,data sheet,2023-01-01\n"
      "A100-80GB,,NVIDIA,Ampere,80,2039,19.5,156,312,312,,624,400,600,yes,data sheet,2020-01-01\n"
      "A100-40GB,,NVIDIA,Ampere,40,1555,19.5,156,312,312,,624,400,600,yes,data sheet,2020-01-01\n";
  constexpr std::string_view kInstances =
      "provider,instance_type,gpu_model,gpu_milli,gpu_memory_gib,vcpus,memory_gib,arch,best_for,source,as_of\n"
      "aws,g4dn.xlarge,T4,1000,16,4,16,x86_64,serving,test,2026-01-01\n"
      "aws,g6e.xlarge,L40S,1000,48,4,32,x86_64,serving,test,2026-01-01\n"
      "aws,g6e.2xlarge,L40S,1000,48,8,64,x86_64,serving,test,2026-01-01\n"
      "aws,p5.4xlarge,H100-80GB,1000,80,16,256,x86_64,serving,test,2026-01-01\n"
      "gcp,a2-highgpu-1g,A100-40GB,1000,40,12,85,x86_64,training,test,2026-01-01\n"
      "gcp,a2-ultragpu-1g,A100-80GB,1000,80,12,170,x86_64,training,test,2026-01-01\n";
  constexpr std::string_view kPrices =
      "provider,region,instance_type,market,term,payment,per_hour,currency,estimated,source,as_of\n"
      "aws,us-east-1,g4dn.xlarge,on-demand,,,0.5,USD,no,test,2026-01-01\n"
      "aws,us-east-1,g6e.xlarge,on-demand,,,1.8,USD,no,test,2026-01-01\n"
      "aws,us-east-1,g6e.2xlarge,on-demand,,,2.2,USD,no,test,2026-01-01\n"
      "aws,us-east-1,p5.4xlarge,on-demand,,,6,USD,no,test,2026-01-01\n"
      "gcp,us-central1,a2-highgpu-1g,on-demand,,,3.7,USD,no,test,2026-01-01\n"
      "gcp,us-central1,a2-ultragpu-1g,on-demand,,,5,USD,no,test,2026-01-01\n";
  return Catalog::parse(kGpus, kInstances, kPrices).value();
}

// Nine services that need a twelfth of an L40S, and a tenth that fills its own: it speaks for itself.
TEST(PlanRightsize, NoServiceDecidesForTheOthersOfItsPool) {
  TestFleet fleet;
  fleet.catalog = serving_catalog();
  for (int i = 0; i < 10; ++i)
    fleet.add(fmt::format("serve-{}", i), "aws", "g6e.2xlarge", WorkloadKind::kRealtimeInference,
              {i < 9 ? Use{.mean = 5, .p95 = 8, .idle = 50, .memory_gib = 20}
                     : Use{.mean = 90, .p95 = 97, .idle = 1, .memory_gib = 20}});
  const RightsizePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.rows, SizeIs(2));
  EXPECT_THAT(plan.rows[0].nodes, SizeIs(9));
  EXPECT_FALSE(plan.rows[0].too_small);
  ASSERT_TRUE(plan.rows[0].best);
  EXPECT_EQ(plan.rows[0].best->type->name, "g6e.xlarge");
  EXPECT_EQ(plan.rows[0].best->count, 9);
  EXPECT_EQ(plan.rows[0].best->saving_per_month, usd("2592"));  // 9 × (2.2 − 1.8) × 720
  EXPECT_THAT(plan.rows[1].nodes, testing::ElementsAre("serve-9"));
  EXPECT_TRUE(plan.rows[1].too_small);
  ASSERT_TRUE(plan.rows[1].best);
  EXPECT_EQ(plan.rows[1].best->type->name, "g6e.xlarge");
  EXPECT_EQ(plan.rows[1].best->count, 2);                        // 0.97 × 1.2 = 1.16
  EXPECT_EQ(plan.rows[1].best->saving_per_month, usd("-1008"));  // (2.2 − 2 × 1.8) × 720
  // What one of them needs more takes nothing off what the others save: so the audit books the same.
  EXPECT_EQ(plan.saving_per_month, usd("2592"));
  EXPECT_EQ(plan.growth_per_month, usd("1008"));
  const Proposals found = fleet.propose(find_resize);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(fleet.saving(found.advised[0].change).value(), plan.saving_per_month);
  EXPECT_THAT(growth_notes(plan),
              testing::ElementsAre(testing::AllOf(testing::StartsWith("too small"), testing::HasSubstr("serve-9"),
                                                  testing::HasSubstr("2 × g6e.xlarge would cost 1,008.00 USD a month more"))));
}

// A T4 would cost least and be too slow; the same GPU in a smaller machine does.
TEST(PlanRightsize, ATypeThatIsTooSlowHasASecondBest) {
  TestFleet fleet;
  fleet.catalog = serving_catalog();
  for (int i = 0; i < 9; ++i)
    fleet.add(fmt::format("serve-{}", i), "aws", "g6e.2xlarge", WorkloadKind::kRealtimeInference,
              {Use{.mean = 5, .p95 = 8, .idle = 50, .memory_gib = 10}});
  const RightsizePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.rows, SizeIs(1));
  ASSERT_THAT(plan.rows[0].dropped, SizeIs(1));
  EXPECT_EQ(plan.rows[0].dropped[0].type->name, "g4dn.xlarge");
  const Proposals found = fleet.propose(find_resize);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(std::get<ResizeNodes>(found.advised[0].change).to_instance_type, "g6e.xlarge");
  EXPECT_EQ(fleet.saving(found.advised[0].change).value(), plan.saving_per_month);
}

// Eight replicas busy for 0.3 of the time, so 2.4. On six 4.0 % of the requests find none free (Erlang's C), and the time that one in a hundred
// exceeds is 1 + (1 − (0.01/0.040)^(1/6)) = 1.21 × that of the work alone, for equal requests; on five, with 11.4 %, 1.38.
TEST(PlanRightsize, ReplicasOfOneServiceBecomeFewer) {
  TestFleet fleet;
  for (int i = 0; i < 8; ++i)
    fleet
        .add(fmt::format("serve-{}", i), "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
             {Use{.mean = 30, .p95 = 30, .idle = 5, .memory_gib = 12}})
        .gpus[0]
        .workload = "vllm";
  fleet.facts.unpromised_pct = 125;
  const RightsizePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.rows, SizeIs(1));
  EXPECT_EQ(plan.rows[0].service_count, 1);
  const Proposals found = fleet.propose(find_resize);
  ASSERT_THAT(found.advised, SizeIs(1));
  EXPECT_EQ(found.advised[0].title, "Keep 6 of 8 × p3.2xlarge: fewer replicas of vllm");
  EXPECT_EQ(std::get<ResizeNodes>(found.advised[0].change).to_count, 6);
  EXPECT_EQ(fleet.saving(found.advised[0].change).value(), usd("4406.4"));  // 2 × 3.06 × 720
  EXPECT_EQ(plan.saving_per_month, usd("4406.4"));
}

// What two clients hold in instances of an A100 of 80 GiB stays apart: 20.5 GiB do not fit half an A100 of 40, 12 and 8 do.
TEST(PlanRightsize, MigInstancesOfTheNewGpuMustHoldWhatIsApartNow) {
  const auto fleet_with = [](double one_gib, double other_gib) {
    TestFleet fleet;
    fleet.catalog = serving_catalog();
    NodeFacts& node = fleet.add("mig", "gcp", "a2-ultragpu-1g", WorkloadKind::kRealtimeInference,
                                {Use{.mean = 10, .p95 = 20, .idle = 10, .memory_gib = one_gib + other_gib}});
    node.gpus[0].cut_by_mig = true;
    for (const double gib : {one_gib, other_gib})
      node.gpus[0].instances.push_back({.memory_peak = Bytes::gibi(gib), .busy_p95 = 0.1});
    return fleet;
  };
  const TestFleet tight = fleet_with(20.5, 8);
  const RightsizePlan plan = plan_of(tight);
  ASSERT_THAT(plan.rows, SizeIs(1));
  EXPECT_FALSE(plan.rows[0].best);
  const Proposals refused = tight.propose(find_resize);
  EXPECT_THAT(refused.advised, testing::IsEmpty());
  ASSERT_THAT(refused.rejected, SizeIs(1));
  EXPECT_THAT(refused.rejected[0].caveats.front(), testing::HasSubstr("2 GPUs, not 1"));
  const Proposals fits = fleet_with(12, 8).propose(find_resize);
  ASSERT_THAT(fits.advised, SizeIs(1));
  EXPECT_EQ(std::get<ResizeNodes>(fits.advised[0].change).to_instance_type, "a2-highgpu-1g");
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
      plan_rightsize({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, {.demands = {{"nobody", {1, 1}}}}).ok());
}

}  // namespace
}  // namespace stint
