// What only a high risk would reach, beside the plan and never in it.
#include "advise/plan/risk_outlook.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<RiskOutlook> outlooks_of(const TestFleet& fleet, const std::vector<Change>& plan = {},
                                     std::span<const Finding> findings = {}) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  for (const Change& change : plan)
    EXPECT_TRUE(books.apply(change).ok());
  return risk_outlooks({fleet.facts, books, prices, fleet.history, fleet.allowed_regions, fleet.longest_term}, findings);
}

const RiskOutlook* lever(const std::vector<RiskOutlook>& all, RiskLever which) {
  const auto found = std::ranges::find(all, which, &RiskOutlook::lever);
  return found == all.end() ? nullptr : &*found;
}

void add_price(TestFleet& fleet, const char* provider, const char* region, const char* type, Market market,
               const char* per_hour) {
  const PriceRow row{.provider = provider,
                     .region = region,
                     .instance_type = type,
                     .market = market,
                     .term = CommitmentTerm::kNone,
                     .payment = PaymentOption::kNone,
                     .rate = Rate::per_hour(Money::parse(per_hour).value()),
                     .estimated = false,
                     .source = "test",
                     .as_of = kJune.begin};
  fleet.catalog = fleet.catalog.with_prices(std::span(&row, 1));
}

// One V100 around the clock at 3.06: a year takes it to 1.82, three to 1.2, so 0.62 × 720 more.
TEST(RiskOutlook, ThreeYearsAreWorthWhatTheyTakeOffBeyondOne) {
  TestFleet fleet;
  fleet.commitment_price(CommitmentTerm::kThreeYears, PaymentOption::kNoUpfront, "1.2");
  fleet.add("a", "aws", "p3.2xlarge", WorkloadKind::kTraining, {TestFleet::Use{}});
  const auto found = outlooks_of(fleet);
  const RiskOutlook* three = lever(found, RiskLever::kThreeYears);
  ASSERT_NE(three, nullptr);
  EXPECT_EQ(three->saving_per_month, usd("446.4"));
  EXPECT_THAT(risk_note(*three), HasSubstr("446.40 USD a month off this plan: beyond what a year would take off"));
  // As much where the plan holds the year already.
  Finding year;
  year.change = Commit{"aws", "us-east-1", "p3.2xlarge", 1, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"a"}};
  const auto after = outlooks_of(fleet, {year.change}, std::span(&year, 1));
  ASSERT_NE(lever(after, RiskLever::kThreeYears), nullptr);
  EXPECT_EQ(lever(after, RiskLever::kThreeYears)->saving_per_month, usd("446.4"));
  fleet.longest_term = CommitmentTerm::kThreeYears;
  EXPECT_EQ(lever(outlooks_of(fleet), RiskLever::kThreeYears), nullptr) << "the plan weighs them itself";
}

// A machine that the plan runs on spot at 7: 5 in another region are 2 × 720 less.
TEST(RiskOutlook, OtherPoolsOfSpotAreOfTheSameProvider) {
  TestFleet fleet;
  add_price(fleet, "aws", "us-west-2", "p4d.24xlarge", Market::kSpot, "5");
  add_price(fleet, "aws", "us-gov-west-1", "p4d.24xlarge", Market::kSpot, "1");
  fleet.add("train", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<TestFleet::Use>(8));
  EXPECT_EQ(lever(outlooks_of(fleet), RiskLever::kOtherSpotPools), nullptr) << "it is on demand";
  const auto at = std::ranges::find(fleet.facts.nodes, "train", &NodeFacts::name);
  at->market = Market::kSpot;
  at->compute = usd("5040");  // 7 × 720
  const auto found = outlooks_of(fleet);
  const RiskOutlook* pools = lever(found, RiskLever::kOtherSpotPools);
  ASSERT_NE(pools, nullptr);
  EXPECT_EQ(pools->saving_per_month, usd("1440"));
  EXPECT_THAT(pools->rests_on, HasSubstr("1 × aws p4d.24xlarge in us-west-2 at 5"));
}

// An A100 of Google at 3.7, the same at 2.5 elsewhere: 1.2 × 720. One V100 for 3.06 is another's V100 or something as fast, not an L4.
TEST(RiskOutlook, AnotherProviderMustBeAsFast) {
  TestFleet fleet;
  add_price(fleet, "aws", "us-east-1", "p4d.24xlarge", Market::kOnDemand, "2.5");
  fleet.add("a", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {TestFleet::Use{}});
  const auto found = outlooks_of(fleet);
  const RiskOutlook* other = lever(found, RiskLever::kOtherProviders);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->saving_per_month, usd("864"));
  EXPECT_THAT(risk_note(*other), HasSubstr("at least as fast; it pays only while moving data"));
  TestFleet slow;
  slow.add("a", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {TestFleet::Use{}});
  EXPECT_EQ(lever(outlooks_of(slow), RiskLever::kOtherProviders), nullptr)
      << "p4d.24xlarge costs more, an L4 or a V100 is slower";
}

TEST(RiskOutlook, WhatThePlanGivesBackOrNobodyWatchesHasNone) {
  TestFleet fleet;
  fleet.commitment_price(CommitmentTerm::kThreeYears, PaymentOption::kNoUpfront, "1.2");
  fleet.add("a", "aws", "p3.2xlarge", WorkloadKind::kTraining, {TestFleet::Use{}});
  EXPECT_THAT(outlooks_of(fleet, {StopNodes{{"a"}}}), IsEmpty());
  EXPECT_THAT(outlooks_of(TestFleet()), IsEmpty());
}

}  // namespace
}  // namespace stint
