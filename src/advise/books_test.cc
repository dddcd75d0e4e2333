// What a change leaves of hours is what later changes are priced on.
#include "advise/books.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Of a day, the hours in which the node is on for a whole hour.
int64_t whole_hours(const Books& books, const NodeFacts& node) { return std::ranges::count(books.of(node.id).on_s, 3600); }

TEST(LimitedHours, KeepsTheFirstHoursOfEachStretch) {
  const std::vector<uint16_t> on = {0, 3600, 3600, 3600, 0, 1800, 3600, 0};
  EXPECT_THAT(limited_hours(on, Duration::hours(3), Duration::hours(2)), ElementsAre(0, 3600, 3600, 0, 0, 1800, 3600, 0));
  EXPECT_THAT(limited_hours(on, Duration::hours(3), Duration::hours(1)), ElementsAre(0, 3600, 0, 0, 0, 1800, 1800, 0));
}

TEST(LimitedHours, TakesALongStretchForReservationsOneAfterAnother) {
  const std::vector<uint16_t> on(6, 3600);
  EXPECT_THAT(limited_hours(on, Duration::hours(3), Duration::hours(1)), ElementsAre(3600, 0, 0, 3600, 0, 0));
  EXPECT_THAT(limited_hours(on, Duration::hours(4), Duration::hours(1)), ElementsAre(3600, 0, 0, 0, 0, 0));
  EXPECT_THAT(limited_hours({}, Duration::hours(4), Duration::hours(1)), IsEmpty());
}

// Three machines that work 8 of 24 hours, at the same time. After the limit a committed instance would be used in a third of the hours
// (1.82 / 3.06 = 59 % are needed): 720 × 1.82 − 240 × 3.06 = 576 dearer. Spread over the day it would have been in use in all.
TEST(Books, ACommitmentAfterALimitPaysForTheHoursThatAreLeft) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kEvaluation, {TestFleet::Use{}});
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  const LimitReservation limit{"eval", {"a", "b", "c"}, Duration::hours(24), Duration::hours(8)};
  EXPECT_EQ(books.apply(limit).value(), usd("4406.4"));  // 3 × 720 × 3.06 × 2/3
  EXPECT_EQ(whole_hours(books, fleet.facts.nodes[0]), 240);
  const Commit commit{"aws", "us-east-1", "p3.2xlarge", 1, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"a", "b", "c"}};
  EXPECT_EQ(books.saving_of(commit).value(), usd("-576"));
  const FleetView view{fleet.facts, books, prices, fleet.history, fleet.allowed_regions, fleet.longest_term, fleet.savings_plans};
  EXPECT_THAT(find_commit(view).advised, IsEmpty());
}

TEST(StretchedHours, GiveEachHourTheSamePart) {
  const std::vector<uint16_t> on = {0, 3600, 1800, 0};
  EXPECT_THAT(stretched_hours(on, on, 2700), ElementsAre(0, 1800, 900, 0));
  EXPECT_THAT(stretched_hours(on, on, 0), ElementsAre(0, 0, 0, 0));
  // Toward what it was: half of the hour that it is off now. Beyond that of what is left of every hour.
  EXPECT_THAT(stretched_hours(on, {3600, 3600, 1800, 0}, 7200), ElementsAre(1800, 3600, 1800, 0));
  EXPECT_THAT(stretched_hours(on, {3600, 3600, 1800, 0}, 11'700), ElementsAre(3600, 3600, 2700, 1800));
  EXPECT_THAT(stretched_hours(on, on, 20'000), ElementsAre(3600, 3600, 3600, 3600)) << "a day has no more";
}

// Limited from 24 hours to 8, three machines saved 4,406.40 on the books and half of that in a replay: they were on for 16 hours of 24. What an hour
// costs is as before, and a commitment is used in two thirds of the hours: 480 × 3.06 − 720 × 1.82 for each.
TEST(Books, WhatAReplayShowedIsInTheHoursAsInTheMoney) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kEvaluation, {TestFleet::Use{}});
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  const NodeId a = fleet.facts.nodes[0].id;
  const LimitReservation limit{"eval", {"a", "b", "c"}, Duration::hours(24), Duration::hours(8)};
  EXPECT_EQ(books.apply_as_replayed(limit, usd("2203.2")).value(), usd("2203.2"));
  EXPECT_EQ(books.of(a).seconds(), 480 * 3600);
  EXPECT_EQ(books.hourly(a), usd("3.06"));
  const Commit commit{"aws", "us-east-1", "p3.2xlarge", 3, CommitmentTerm::kOneYear, PaymentOption::kNoUpfront, {"a", "b", "c"}};
  EXPECT_EQ(books.saving_of(commit).value(), usd("475.2"));
}

// Spot that a replay found dearer than the books has the same hours at another price.
TEST(Books, WhatAReplayShowedOfAMarketIsInThePrice) {
  TestFleet fleet;
  fleet.add("a", "aws", "p4d.24xlarge", WorkloadKind::kTraining, {TestFleet::Use{}});
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  EXPECT_EQ(books.apply_as_replayed(SwitchMarket{{"a"}, Market::kSpot}, usd("3600")).value(), usd("3600"));
  EXPECT_EQ(books.of(fleet.facts.nodes[0].id).seconds(), 720 * 3600);
  EXPECT_EQ(books.hourly(fleet.facts.nodes[0].id), usd("17"));
}

TEST(Books, ASavingsPlanAfterALimitPaysForTheHoursThatAreLeft) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kEvaluation, {TestFleet::Use{}});
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Books books(fleet.facts, prices);
  EXPECT_TRUE(books.apply(LimitReservation{"eval", {"a", "b", "c"}, Duration::hours(24), Duration::hours(8)}).ok());
  // 1.82 an hour covers one of the three in 240 hours: 720 × 1.82 − 240 × 3.06.
  const SavingsPlan plan{.provider = "aws",
                         .per_hour = usd("1.82"),
                         .term = CommitmentTerm::kOneYear,
                         .payment = PaymentOption::kNoUpfront,
                         .rates = {{"us-east-1", "p3.2xlarge", usd("1.82")}},
                         .nodes = {"a", "b", "c"}};
  EXPECT_EQ(books.saving_of(plan).value(), usd("-576"));
}

// "a" is there 8 hours a day, "b" always: one machine for both is there always, whichever of the names it bears.
TEST(Books, AMachineForSeveralIsThereWheneverOneOfThemWas) {
  TestFleet fleet;
  fleet.keep_on(fleet.add("a", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {TestFleet::Use{}}),
                [](size_t h) { return h % 24 < 8; });
  fleet.add("b", "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {TestFleet::Use{}});
  EXPECT_EQ(fleet.saving(ResizeNodes{{"a", "b"}, "p3.2xlarge", "", 1}).value(), usd("734.4")) << "240 × 3.06";
  EXPECT_EQ(fleet.saving(ResizeNodes{{"a", "b"}, "g6.xlarge", "", 1}).value(), usd("2361.6")) << "960 × 3.06 − 720 × 0.8";
  ShareGpus share;
  share.nodes = {"a", "b"};
  share.keep = {"a"};
  EXPECT_EQ(fleet.saving(share).value(), usd("734.4"));
  EXPECT_EQ(fleet.saving(ResizeNodes{{"a", "b"}, "g6.xlarge", "", 2}).value(), usd("2169.6")) << "960 × (3.06 − 0.8)";
}

}  // namespace
}  // namespace stint
