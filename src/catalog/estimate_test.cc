#include "catalog/estimate.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

MachineGroup machines(std::string type, int64_t count, std::string region = "us-east-1") {
  MachineGroup g;
  g.provider = "aws";
  g.instance_type = std::move(type);
  g.region = std::move(region);
  g.count = g.least = g.most = count;
  return g;
}

InfrastructurePlan one(std::optional<MachineGroup> before, std::optional<MachineGroup> after) {
  PlannedMachines planned;
  planned.address = "aws_instance.a";
  planned.before = std::move(before);
  planned.after = std::move(after);
  return {.machines = {planned}};
}

Estimate estimated(const InfrastructurePlan& plan, const std::string& region = "") {
  auto estimate = estimate_plan(Catalog::built_in(), plan, region);
  EXPECT_TRUE(estimate.ok()) << estimate.error().message;
  return estimate.ok() ? *estimate : Estimate();
}

// g5.xlarge costs 1.006 an hour in us-east-1 (catalog/prices.csv): 2 × 730 × 1.006 = 1,468.76.
TEST(EstimatePlan, CountsHoursOfAMonthBeforeAndAfter) {
  const Estimate e = estimated(one(machines("g5.xlarge", 1), machines("g5.xlarge", 2)));
  EXPECT_EQ(e.before.to_decimal(), "734.38");
  EXPECT_EQ(e.after.to_decimal(), "1468.76");
  EXPECT_THAT(e.gpu_milli_after, ElementsAre(Pair("A10G", 2000)));
  EXPECT_THAT(e.not_estimated, IsEmpty());
}

TEST(EstimatePlan, AnAutoscalersBoundsAreKept) {
  MachineGroup g = machines("g5.xlarge", 2);
  g.least = 0;
  g.most = 10;
  const Estimate e = estimated(one({}, g));
  EXPECT_EQ(e.least.to_decimal(), "0");
  EXPECT_EQ(e.most.to_decimal(), "7343.8");
}

TEST(EstimatePlan, MachinesWithoutGpusAreCountedNotPriced) {
  const Estimate e = estimated(one({}, machines("c7i.2xlarge", 5)));
  EXPECT_EQ(e.without_gpus, 1);
  EXPECT_THAT(e.lines, IsEmpty());
  EXPECT_TRUE(e.after.is_zero());
  EXPECT_EQ(estimated(one({}, machines("m5.large", 5))).without_gpus, 1);
}

TEST(EstimatePlan, AGpuTypeWithoutAPriceIsNamedAndNeverFree) {
  for (const char* type : {"p9.48xlarge", "ml.g5.xlarge", "trn2.48xlarge"}) {
    const Estimate e = estimated(one({}, machines(type, 1)));
    ASSERT_THAT(e.not_estimated, SizeIs(1)) << type;
    EXPECT_THAT(e.not_estimated[0].why, HasSubstr(type));
  }
  const Estimate elsewhere = estimated(one({}, machines("g5.xlarge", 1, "mars-north-1")));
  ASSERT_THAT(elsewhere.not_estimated, SizeIs(1));
  EXPECT_THAT(elsewhere.not_estimated[0].why, HasSubstr("mars-north-1"));
}

TEST(EstimatePlan, AttachedGpusAreNotPricedAsAMachineWithoutThem) {
  MachineGroup g = machines("n2-standard-8", 1, "us-central1");
  g.provider = "gcp";
  g.accelerator = "nvidia-tesla-t4";
  g.accelerators = 1;
  EXPECT_THAT(estimated(one({}, g)).not_estimated, SizeIs(1));
}

TEST(EstimatePlan, ARegionThatIsNotNamedIsSaidWhenAssumed) {
  const Estimate e = estimated(one({}, machines("g5.xlarge", 1, "")));
  ASSERT_THAT(e.lines, SizeIs(1));
  EXPECT_THAT(e.lines[0].notes, ElementsAre(HasSubstr("the plan names no region")));
  EXPECT_THAT(estimated(one({}, machines("g5.xlarge", 1, "")), "us-east-1").lines[0].notes, IsEmpty());
}

TEST(EstimatePlan, CountsBeyondAllSenseAreRefused) {
  const Estimate e = estimated(one({}, machines("p5.48xlarge", 1'000'000)));
  ASSERT_THAT(e.not_estimated, SizeIs(1));
  EXPECT_THAT(e.not_estimated[0].why, HasSubstr("is the count right?"));
}

TEST(JudgeEstimate, LimitsAreOfTheFleetWithThePlan) {
  const Estimate e = estimated(one(machines("g5.xlarge", 1), machines("g5.xlarge", 2)));  // 734.38 more
  const EstimateLimits limits{.budget = Money::units(10'000), .most_more = Money::units(700), .quota = {{"A10G", 2}}};
  const auto alone = judge_estimate(e, {}, limits);
  ASSERT_TRUE(alone.ok());
  ASSERT_THAT(*alone, SizeIs(3));
  EXPECT_TRUE((*alone)[0].holds);
  EXPECT_FALSE((*alone)[1].holds);
  EXPECT_TRUE((*alone)[2].holds);
  const auto within = judge_estimate(e, FleetToday{Money::units(9'500), {{"A10G", 2}}}, limits);
  ASSERT_TRUE(within.ok());
  EXPECT_FALSE((*within)[0].holds) << "9,500 + 734.38 is above 10,000";
  EXPECT_FALSE((*within)[2].holds) << "two there, one more";
}

TEST(JudgeEstimate, CurrenciesAreNotMixed) {
  const Estimate e = estimated(one({}, machines("g5.xlarge", 1)));
  EXPECT_FALSE(judge_estimate(e, FleetToday{Money::units(1, *Currency::parse("EUR")), {}}, {}).ok());
}

}  // namespace
}  // namespace stint
