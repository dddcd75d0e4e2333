#include "advise/plan/timed_notes.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TimedOffer block(const char* region, const char* per_hour) {
  return {.provider = "aws",
          .region = region,
          .instance_type = "p4d.24xlarge",
          .market = TimedMarket::kCapacityBlock,
          .rate = Rate::per_hour(Money::parse(per_hour).value()),
          .fewest_hours = 24,
          .most_hours = 4368,
          .whole_hours = 24,
          .wait_hours = 1344,
          .upfront = true,
          .source = "test",
          .as_of = kJune.begin};
}

std::vector<std::string> notes_of(const TestFleet& fleet, const std::vector<TimedOffer>& offers) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  return timed_notes({fleet.facts, books, prices, fleet.history, fleet.allowed_regions}, offers);
}

// On demand at 22 for the first 100 h: five days of 24 h at 15 are 1,800 in place of 2,200.
TEST(TimedNotes, ABlockIsPricedInWholeDays) {
  TestFleet fleet;
  fleet.keep_on(fleet.add("train", "aws", "p4d.24xlarge", WorkloadKind::kTraining, std::vector<TestFleet::Use>(8)),
                [](size_t h) { return h < 100; });
  const auto notes = notes_of(fleet, {block("us-west-2", "16"), block("us-east-1", "15")});
  EXPECT_THAT(notes, ElementsAre(testing::AllOf(
                         HasSubstr("2,200.00 USD a month in this plan would cost 1,800.00 USD"),
                         HasSubstr("in us-east-1 (test, 2026-06-01), a rate that AWS sets anew from time to time; look"),
                         HasSubstr("no record says on which days any were sold"))));
  EXPECT_THAT(notes_of(fleet, {block("us-west-2", "15")}), ElementsAre(HasSubstr("another region than us-east-1")));
  EXPECT_THAT(notes_of(fleet, {block("us-east-1", "19")}), IsEmpty()) << "120 × 19 is more than 100 × 22";
}

TEST(TimedNotes, ServicesAndWhatLeavesOnDemandHaveNone) {
  TestFleet fleet;
  fleet.add("serve", "aws", "p4d.24xlarge", WorkloadKind::kRealtimeInference, std::vector<TestFleet::Use>(8));
  EXPECT_THAT(notes_of(fleet, {block("us-east-1", "1")}), IsEmpty());
}

// Without a price it is said which runs would fit, and no sum.
TEST(TimedNotes, FlexStartCountsTheRunsThatEndInTime) {
  TestFleet fleet;
  fleet.add("train", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {TestFleet::Use{}});
  for (const int64_t hours : {10, 168, 169}) {
    stint::Run run;
    run.started = kJune.begin;
    run.ended = kJune.begin + kHour * hours;
    run.allocations = {{"train", {}, 1}};
    fleet.history.runs.push_back(run);
  }
  const TimedOffer flex{.provider = "gcp",
                        .region = "",
                        .instance_type = "*",
                        .market = TimedMarket::kFlexStart,
                        .rate = std::nullopt,
                        .fewest_hours = 1,
                        .most_hours = 168,
                        .whole_hours = 1,
                        .wait_hours = 2,
                        .upfront = false,
                        .source = "test",
                        .as_of = kJune.begin};
  EXPECT_THAT(notes_of(fleet, {flex}),
              ElementsAre(testing::AllOf(HasSubstr("2 of 3 runs on 1 × a2-highgpu-1g ended within the 7 days"),
                                         HasSubstr("no source quotes its price"))));
}

}  // namespace
}  // namespace stint
