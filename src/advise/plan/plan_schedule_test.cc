#include "advise/plan/plan_schedule.h"

#include <gmock/gmock.h>

#include <limits>

#include "advise/find/idle_windows.h"
#include "advise/testing_fleet.h"
#include "base/prng.h"

namespace stint {
namespace {

using Use = TestFleet::Use;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNever = -std::numeric_limits<double>::infinity();

double worth(const std::vector<double>& gain, double cost, unsigned off) {
  double sum = 0;
  const size_t n = gain.size();
  for (size_t h = 0; h < n; ++h) {
    const bool now = (off >> h & 1U) != 0;
    const bool next = (off >> ((h + 1) % n) & 1U) != 0;
    if (now) sum += gain[h];
    if (now && !next) sum -= cost;
  }
  return sum;
}

TEST(IdleWindows, TheBestIsThatOfAllSubsets) {
  Prng prng(3);  // seed 3
  for (int round = 0; round < 300; ++round) {
    std::vector<double> gain(2 + prng.below(9));
    for (double& g : gain)
      g = prng.below(4) == 0 ? kNever : prng.uniform() * 2 - 0.5;
    const double cost = prng.uniform() * 2;
    double best = 0;
    for (unsigned off = 0; off < 1U << gain.size(); ++off)
      best = std::max(best, worth(gain, cost, off));
    unsigned chosen = 0;
    const std::vector<bool> found = best_off_windows(gain, cost);
    for (size_t h = 0; h < gain.size(); ++h)
      chosen |= found[h] ? 1U << h : 0U;
    EXPECT_NEAR(worth(gain, cost, chosen), best, 1e-12) << "seed 3, round " << round;
  }
}

SchedulePlan plan_of(const TestFleet& fleet, const SchedulePlanOptions& options = {}) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  auto plan = plan_schedule({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return std::move(plan).value();
}

void work_only(NodeFacts& node, int from, int to) {
  for (size_t h = 0; h < node.timeline.size(); ++h) {
    const bool works = static_cast<int>(h % 24) >= from && static_cast<int>(h % 24) < to;
    node.timeline[h].active_gpus = node.timeline[h].used_gpus = works ? 1 : 0;
    node.timeline[h].reserved = false;
  }
}

// June 2026 begins on a Monday and has 30 days. Working 8 to 18: off 14 h a day, coming back 7 times a week.
TEST(PlanSchedule, NightsArePricedLessComingBack) {
  TestFleet fleet;
  work_only(fleet.add("note", "aws", "p3.2xlarge", WorkloadKind::kNotebook, {Use{}}), 8, 18);
  const SchedulePlan plan = plan_of(fleet, {.restart_h = 2});
  ASSERT_THAT(plan.windows, SizeIs(1));
  EXPECT_EQ(plan.windows[0].off.count(), 98U);
  EXPECT_EQ(plan.windows[0].windows, 7);
  const double restarts = 3.06 * 2 * 7 * (8760.0 / 12 / 168);
  EXPECT_NEAR(plan.windows[0].restarts_per_month.to_double(), restarts, 1e-6);
  EXPECT_NEAR(plan.windows[0].saving_per_month.to_double(), 3.06 * 14 * 30 - restarts, 1e-6);
  // Fourteen hours gained are less than fifteen lost.
  EXPECT_THAT(plan_of(fleet, {.restart_h = 15}).windows, IsEmpty());
}

TEST(PlanSchedule, ServicesStayOnAndSoDoesWhatIsPaidForAnyway) {
  TestFleet fleet;
  work_only(fleet.add("serve", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {Use{}}), 8, 18);
  NodeFacts& reserved = fleet.add("note", "aws", "p3.2xlarge", WorkloadKind::kNotebook, {Use{}});
  reserved.market = Market::kReserved;
  work_only(reserved, 8, 18);
  EXPECT_THAT(plan_of(fleet).windows, IsEmpty());
}

void add_run(TestFleet& fleet, const std::string& node, int64_t begin_h, int64_t hours, int64_t gpus) {
  Run run;
  run.id = fmt::format("{}", fleet.history.runs.size());
  run.name = "job";
  run.tenant.client = "acme";
  run.kind = WorkloadKind::kTraining;
  run.started = kJune.begin + Duration::hours(begin_h);
  run.ended = *run.started + Duration::hours(hours);
  run.allocations = {{node, {}, gpus}};
  fleet.history.runs.push_back(run);
}

// 18:00 to 24:00 at 3.06, half price from 22:00: 4 dear hours and 2 cheap ones; all six are cheap from 22:00 on.
TEST(PlanSchedule, RunsWaitForTheTariffWithinTheirSlack) {
  TestFleet fleet;
  fleet.add("train", "aws", "p3.2xlarge", WorkloadKind::kTraining, {Use{}});
  add_run(fleet, "train", 18, 6, 1);
  SchedulePlanOptions options{.slack = Duration::hours(4), .off_peak_discount = 0.5};
  for (size_t h = 0; h < 168; ++h)
    options.off_peak[h] = h % 24 >= 22 || h % 24 < 6;
  const SchedulePlan plan = plan_of(fleet, options);
  ASSERT_THAT(plan.later, SizeIs(1));
  EXPECT_EQ(plan.later[0].moved, 1);
  EXPECT_EQ(plan.later[0].cost_now, usd("15.3"));  // 3.06 × (4 + 2 / 2)
  EXPECT_EQ(plan.later[0].cost_then, usd("9.18"));
  EXPECT_EQ(plan.later[0].mean_delay, Duration::hours(4));
  options.slack = Duration();
  EXPECT_THAT(plan_of(fleet, options).later, IsEmpty());
}

TEST(PlanSchedule, IdleReservedMachinesAreFreeButOnlyOnce) {
  TestFleet fleet;
  fleet.add("train", "aws", "p3.2xlarge", WorkloadKind::kTraining, {Use{}});
  NodeFacts& owned = fleet.add("owned", "aws", "p3.2xlarge", WorkloadKind::kTraining, {Use{}});
  owned.market = Market::kReserved;
  // Idle from 10:00 to 20:00 of the first day: room for one of two runs of six hours.
  for (size_t h = 10; h < 20; ++h)
    owned.timeline[h].active_gpus = owned.timeline[h].used_gpus = 0;
  add_run(fleet, "train", 9, 6, 1);
  add_run(fleet, "train", 10, 6, 1);
  const SchedulePlan plan = plan_of(fleet);
  ASSERT_THAT(plan.later, SizeIs(1));
  EXPECT_EQ(plan.later[0].moved, 1);
  EXPECT_EQ(plan.later[0].onto_idle, 1);
  EXPECT_EQ(plan.later[0].cost_now, usd("36.72"));
  EXPECT_EQ(plan.later[0].cost_then, usd("18.36"));
}

// a2-highgpu-1g: 3.7 in us-central1, 3 in europe-west4: 0.7 × 720 a month. 1,000 GB at 0.05 are 50.
TEST(PlanSchedule, AnotherRegionNeedsLeaveAndPaysForTheWay) {
  TestFleet fleet;
  fleet.add("train", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {Use{}});
  fleet.add("serve", "gcp", "a2-highgpu-1g", WorkloadKind::kRealtimeInference, {Use{}});
  const SchedulePlanOptions options{.data_gb = 1000, .transfer_per_gb = usd("0.05")};
  EXPECT_THAT(plan_of(fleet, options).elsewhere, IsEmpty());
  fleet.allowed_regions = {"europe-*"};
  const SchedulePlan plan = plan_of(fleet, options);
  ASSERT_THAT(plan.elsewhere, SizeIs(1));
  EXPECT_EQ(nodes_of(plan.elsewhere[0].finding.change), std::vector<std::string>{"train"});
  EXPECT_EQ(plan.elsewhere[0].saving_per_month, usd("504"));
  EXPECT_EQ(plan.elsewhere[0].once, usd("50"));
  EXPECT_NEAR(*plan.elsewhere[0].pays_after_months, 50.0 / 504, 1e-12);
}

TEST(PlanSchedule, OptionsOutOfRangeAreErrors) {
  TestFleet fleet;
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  const FleetView view{fleet.facts, books, prices, fleet.history, fleet.allowed_regions};
  EXPECT_FALSE(plan_schedule(view, {.restart_h = -1}).ok());
  EXPECT_FALSE(plan_schedule(view, {.slack = Duration::hours(1000)}).ok());
  EXPECT_FALSE(plan_schedule(view, {.off_peak_discount = 2}).ok());
  EXPECT_FALSE(plan_schedule(view, {.data_gb = -1}).ok());
}

}  // namespace
}  // namespace stint
