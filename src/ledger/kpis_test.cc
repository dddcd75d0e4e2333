#include "ledger/kpis.h"

#include <gmock/gmock.h>

#include "ledger/testing_books.h"

namespace stint {
namespace {

using testing::HandMade;
using ::testing::HasSubstr;
using testing::kStart;

/// Two GPUs for ten hours at 40: a GPU-hour of the machine costs 2.
class KpisTest : public ::testing::Test {
 protected:
  KpisTest() : books_(10) {
    const NodeId node = books_.node("n0", 2);
    const DeviceId gpus[] = {books_.device(node, 0), books_.device(node, 1)};
    const TenantId search = books_.occupancy.tenants.intern({.client = "acme", .workload = "search"});
    for (const DeviceId gpu : gpus)
      for (int64_t h = 0; h < 10; ++h) {
        if (gpu == gpus[0])
          books_.hour(gpu, h, {{search, WorkloadKind::kRealtimeInference, kWholeDevice, kWholeDevice / 2, true}});
        else
          books_.hour(gpu, h);
      }
    books_.compute("n0", Money::units(40));
  }

  stint::Run& run(const std::string& id, double from_h, double to_h, RunState state = RunState::kCompleted, int64_t gpus = 1) {
    stint::Run run;
    run.id = id;
    run.kind = WorkloadKind::kTraining;
    run.state = state;
    run.started = kStart + Duration::seconds(static_cast<int64_t>(from_h * 3600));
    run.ended = kStart + Duration::seconds(static_cast<int64_t>(to_h * 3600));
    run.allocations.push_back({"n0", {}, gpus});
    books_.history.runs.push_back(run);
    return books_.history.runs.back();
  }
  Result<Kpis> kpis(const std::map<std::string, double>& requests = {}) {
    const auto ledger = books_.post();
    return make_kpis(books_.history, books_.occupancy, *ledger, Catalog::built_in(), requests);
  }

  HandMade books_;
};

TEST_F(KpisTest, AJobCostsItsGpuHoursAtThePriceOfItsMachine) {
  run("a", 0, 1);                           // 2
  run("b", 0, 3);                           // 6
  run("c", 1, 2, RunState::kFailed);        // 2
  run("d", 2, 6, RunState::kCompleted, 2);  // 16
  run("later", 5, 12);                      // ends after the period
  run("runs", 5, 9, RunState::kRunning);    // has no result yet
  const Kpis k = kpis().value();
  ASSERT_EQ(k.jobs.size(), 1u);
  const JobKpis& training = k.jobs[0];
  EXPECT_EQ(training.kind, "training");
  EXPECT_EQ(training.jobs, 4u);
  EXPECT_EQ(training.completed, 3u);
  EXPECT_DOUBLE_EQ(training.gpu_hours, 13);
  EXPECT_EQ(training.cost, Money::units(26));
  EXPECT_EQ(training.cost_unfinished, Money::units(2));
  EXPECT_EQ(training.per_completed_job, Money::estimate(26.0 / 3));
  EXPECT_EQ(training.median, Money::units(6));
  EXPECT_EQ(training.p90, Money::units(16));
}

TEST_F(KpisTest, HoursThatTheBillDoesNotReachMakeNoGpuHourCheaper) {
  books_.history.bill[0].charge_period.end = kStart + kHour * 5;  // 40 for 10 GPU-hours
  run("a", 0, 1);
  EXPECT_EQ(kpis()->jobs[0].cost, Money::units(4));
}

TEST_F(KpisTest, AJobThatWasStartedAgainIsOneJobAndItsStateIsItsLast) {
  run("a", 0, 1, RunState::kPreempted);
  run("a", 2, 4).restart = 1;
  const Kpis k = kpis().value();
  EXPECT_EQ(k.jobs[0].jobs, 1u);
  EXPECT_EQ(k.jobs[0].completed, 1u);
  EXPECT_EQ(k.jobs[0].per_completed_job, Money::units(6));
  EXPECT_TRUE(k.jobs[0].cost_unfinished.is_zero());
}

TEST_F(KpisTest, APartOfAGpuCostsItsPart) {
  run("a", 0, 4).share = GpuShare::of(1, 4);
  EXPECT_EQ(kpis()->jobs[0].cost, Money::units(2));
}

TEST_F(KpisTest, WhatHasNoPriceIsCountedAndInNoAmount) {
  run("a", 0, 1);
  run("b", 0, 1).allocations[0].node = "elsewhere";
  const Kpis k = kpis().value();
  EXPECT_EQ(k.jobs[0].jobs, 2u);
  EXPECT_EQ(k.jobs[0].unpriced, 1u);
  EXPECT_EQ(k.jobs[0].per_completed_job, Money::units(2));
}

TEST_F(KpisTest, TimeToResultCountsFromSubmission) {
  run("a", 1, 2).submitted = kStart;
  run("b", 3, 7).submitted = kStart;
  run("c", 1, 2, RunState::kFailed).submitted = kStart;
  run("d", 1, 2);  // it is not known when it was submitted
  const Kpis k = kpis().value();
  EXPECT_EQ(k.time->jobs, 2u);
  EXPECT_EQ(k.time->median_wait, kHour);
  EXPECT_EQ(k.time->p90_wait, kHour * 3);
  EXPECT_EQ(k.time->median, kHour * 2);
  EXPECT_EQ(k.time->p90, kHour * 7);
}

TEST_F(KpisTest, PricesStandBesideTheCataloguesOnDemandPrice) {
  Node& node = books_.history.nodes[0];
  node.provider = "aws";
  node.region = "us-east-1";
  node.instance_type = "p4d.24xlarge";
  node.gpu_model = "A100-40GB";
  node.gpu_count = 8;  // the catalogue's; two of them are seen
  const double listed = Catalog::built_in()
                            .price({"aws", "p4d.24xlarge", "us-east-1", Market::kOnDemand, CommitmentTerm::kNone})
                            ->rate.per_hour()
                            .to_double() /
                        8;
  const Kpis k = kpis().value();
  ASSERT_EQ(k.prices.size(), 1u);
  const GpuPriceKpi& price = k.prices[0];
  EXPECT_EQ(price.gpu_model, "A100-40GB");
  EXPECT_EQ(price.cost, Money::units(40));
  EXPECT_NEAR(price.per_gpu_hour.to_double(), 40 / price.gpu_hours, 1e-8);
  EXPECT_NEAR(price.listed->to_double(), listed, 1e-8);
  EXPECT_NEAR(*price.below_list_pct, 100 * (1 - 40 / (price.gpu_hours * listed)), 1e-6);
  EXPECT_NEAR(*k.below_list_pct, *price.below_list_pct, 1e-9);
  node.instance_type = "unheard-of";
  EXPECT_EQ(kpis()->prices[0].listed, std::nullopt);
  EXPECT_EQ(kpis()->below_list_pct, std::nullopt);
}

TEST_F(KpisTest, CommitmentsAreWhatTheBillMarksAsSuch) {
  EXPECT_EQ(kpis()->commitments, std::nullopt);
  books_.history.bill[0].charge_period.end = kStart + kHour * 4;
  books_.history.bill[0].market = Market::kReserved;
  books_.compute("n0", Money::units(60), 4);  // on demand for the other six hours
  books_.compute("", Money::units(10), 4).commitment_unused = true;
  const auto c = kpis()->commitments;
  ASSERT_TRUE(c.has_value());
  EXPECT_DOUBLE_EQ(c->coverage_pct, 40);
  EXPECT_DOUBLE_EQ(c->utilization_pct, 80);  // 40 of 50
  EXPECT_EQ(c->unused, Money::units(10));
}

// The FinOps Foundation's: 1 − what is paid ÷ what it would cost on demand, and what is paid holds what nothing used.
TEST_F(KpisTest, TheEffectiveSavingsRateHoldsWhatCommitmentsCostUnused) {
  Node& node = books_.history.nodes[0];
  node.provider = "aws";
  node.region = "us-east-1";
  node.instance_type = "p4d.24xlarge";
  node.gpu_count = 8;
  const Kpis all_used = kpis().value();
  ASSERT_TRUE(all_used.effective_savings_pct.has_value());
  EXPECT_DOUBLE_EQ(*all_used.effective_savings_pct, *all_used.below_list_pct);
  books_.compute("", Money::units(10), 4).commitment_unused = true;
  const Kpis k = kpis().value();
  EXPECT_DOUBLE_EQ(*k.below_list_pct, *all_used.below_list_pct) << "the price of hours that were used";
  EXPECT_NEAR(100 - *k.effective_savings_pct, (100 - *k.below_list_pct) * 50 / 40, 1e-9);  // 40 paid for hours, 10 for none
  node.instance_type = "unheard-of";
  EXPECT_EQ(kpis()->effective_savings_pct, std::nullopt);
}

TEST_F(KpisTest, TheShareWithAnOwnerIsThatOfRowsWithAName) {
  const Kpis k = kpis().value();
  EXPECT_DOUBLE_EQ(k.owned.client, 50);  // one of two GPUs is idle, of no client
  EXPECT_DOUBLE_EQ(k.owned.project, 0);
}

TEST_F(KpisTest, AThousandInferencesCostTheServicesMoneyByItsRequests) {
  const Kpis k = kpis({{"search", 4'000'000}}).value();
  ASSERT_EQ(k.services.size(), 1u);
  EXPECT_EQ(k.services[0].service, "search");
  EXPECT_EQ(k.services[0].cost, Money::units(20));  // 10 of the 20 GPU-hours
  EXPECT_EQ(k.services[0].per_thousand, *Money::parse("0.005"));
  EXPECT_EQ(kpis()->services[0].per_thousand, std::nullopt);
  EXPECT_THAT(kpis({{"sreach", 1}}).error().message,
              HasSubstr("no service 'sreach' with inference cost in this period; there are search"));
  EXPECT_DOUBLE_EQ(*k.held_pct, 50);
  EXPECT_DOUBLE_EQ(*k.active_pct, 50);
  EXPECT_EQ(k.per_active_gpu_hour, Money::units(8));  // 40 for 5 active GPU-hours
}

}  // namespace
}  // namespace stint
