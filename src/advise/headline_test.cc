#include "advise/headline.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const Instant kSoonAfter = *parse_instant("2026-06-01");

Finding saving_of_kind(Change change, std::string_view saving, int step) {
  Finding f;
  f.change = std::move(change);
  f.saving_per_month = usd(saving);
  f.step = step;
  return f;
}

TEST(Headline, ASavingAtADoubtfulPriceIsNotCalledReplayed) {
  Finding replayed = saving_of_kind(StopNodes{{"a"}}, "10", 1);
  replayed.proof.emplace().verdict = ProofVerdict::kSurvives;
  Finding second_hand = replayed;
  second_hand.price_doubt = PriceDoubt::kSecondary;
  Finding old = replayed;
  old.price_doubt = PriceDoubt::kOld;
  Finding estimated = saving_of_kind(StopNodes{{"b"}}, "0.5", 2);
  estimated.price_doubt = PriceDoubt::kEstimated;
  const Finding arithmetic = saving_of_kind(StopNodes{{"c"}}, "3", 3);
  const SavingBasis basis = saving_basis(std::vector{replayed, second_hand, old, estimated, arithmetic}, usd("0"));
  EXPECT_EQ(basis.replayed, usd("20"));
  EXPECT_EQ(basis.doubtful_price, usd("10.5"));
  EXPECT_EQ(basis.arithmetic, usd("3"));
}

TEST(Headline, AChangeRestsOnThePricesOfWhatItMovesTo) {
  TestFleet fleet;
  fleet.add("a", "aws", "p4d.24xlarge", WorkloadKind::kTraining, {{}});
  std::vector<PriceRow> spot(1, *fleet.catalog.price({"aws", "p4d.24xlarge", "us-east-1", Market::kSpot}));
  spot[0].estimated = true;
  fleet.catalog = fleet.catalog.with_prices(spot);
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const auto doubt_after = [&](const Change& change, Instant now) {
    Books books(fleet.facts, prices);
    EXPECT_TRUE(books.apply(change).ok());
    return worst_doubt(prices_behind(change, books), now);
  };
  EXPECT_EQ(doubt_after(SwitchMarket{{"a"}, Market::kSpot}, kSoonAfter), PriceDoubt::kEstimated);
  EXPECT_EQ(doubt_after(ResizeNodes{{"a"}, "p3.8xlarge", "", 1}, kSoonAfter), PriceDoubt::kNone);
  EXPECT_EQ(doubt_after(ResizeNodes{{"a"}, "p3.8xlarge", "", 1}, *parse_instant("2026-12-01")), PriceDoubt::kOld);
  EXPECT_EQ(doubt_after(StopNodes{{"a"}}, *parse_instant("2026-12-01")), PriceDoubt::kNone);  // what the bill says
}

TEST(Headline, PricesUsedAreThoseOfFindingsAndOfHoursWithoutABill) {
  TestFleet fleet;
  const PriceRow spot = *fleet.catalog.price({"aws", "p4d.24xlarge", "us-east-1", Market::kSpot});
  PriceRow small = *fleet.catalog.price({"aws", "p3.8xlarge", "us-east-1"});
  small.as_of = spot.as_of - kHour * 24;
  fleet.catalog = fleet.catalog.with_prices(std::vector{small});
  std::vector findings = {saving_of_kind(SwitchMarket{{"a"}, Market::kSpot}, "1", 1),
                          saving_of_kind(SwitchMarket{{"b"}, Market::kSpot}, "1", 2)};
  findings[0].prices = findings[1].prices = {spot};
  History history;
  for (const char* name : {"priced", "own-rate", "billed"}) {
    Node& node = history.nodes.emplace_back();
    node.name = name;
    node.provider = "aws";
    node.instance_type = "p3.8xlarge";
    node.region = "us-east-1";
  }
  history.nodes[1].rate = Rate::per_hour(usd("3"));
  Ledger ledger;
  for (uint32_t n = 0; n < 3; ++n) {
    ledger.lines.push_back({});
    ledger.synthesised.push_back(n < 2);
    ledger.line_nodes.push_back(NodeId(n));
  }
  const auto used = prices_used(findings, ledger, history, fleet.catalog, spot.as_of + kPriceStaleAfter);
  ASSERT_THAT(used, SizeIs(2));
  EXPECT_EQ(used[0].row.instance_type, "p3.8xlarge");
  EXPECT_TRUE(used[0].stale);
  EXPECT_EQ(used[0].doubt, PriceDoubt::kOld);
  EXPECT_EQ(used[1].row.market, Market::kSpot);
  EXPECT_FALSE(used[1].stale);

  AuditReport report;
  report.prices = used;
  const auto checks = data_checks(report, ledger);
  EXPECT_FALSE(checks[3].complete);
  EXPECT_THAT(checks[3].says,
              HasSubstr("1 of 2 prices of the catalogue used is older than 180 days, the oldest of " + format_date(small.as_of)));
  report.prices[1].stale = true;
  EXPECT_THAT(data_checks(report, ledger)[3].says, HasSubstr("2 of 2 prices of the catalogue used are older"));
}

TEST(Headline, ThePlansRangeFollowsSpotAndStopsAtOnDemand) {
  TestFleet fleet;
  fleet.add("a", "aws", "p4d.24xlarge", WorkloadKind::kTraining, {{}});
  const SwitchMarket to_spot{{"a"}, Market::kSpot};
  const std::vector findings = {saving_of_kind(to_spot, "1", 1)};
  EXPECT_FALSE(plan_range(std::vector{saving_of_kind(StopNodes{{"a"}}, "1", 1)}, fleet.facts, fleet.catalog, usd("0")));
  const auto cost_at = [&](std::string_view spot) {
    PriceRow row = *fleet.catalog.price({"aws", "p4d.24xlarge", "us-east-1", Market::kSpot});
    row.rate = Rate::per_hour(usd(spot));
    const Catalog moved = fleet.catalog.with_prices(std::vector{row});
    const PriceLookup prices(moved, fleet.facts.currency);
    Books books(fleet.facts, prices);
    EXPECT_TRUE(books.apply(to_spot).ok());
    return books.total();
  };
  // 7 USD an hour: 26 % less is 5.18, 81 % more 12.67.
  const auto range = plan_range(findings, fleet.facts, fleet.catalog, cost_at("7"));
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, cost_at("5.18"));
  EXPECT_EQ(range->high, cost_at("12.67"));
  EXPECT_THAT(range->source, HasSubstr("26 % lower and 81 % higher"));
  // 81 % more than 20 would be above the 22 of on-demand.
  PriceRow dear = *fleet.catalog.price({"aws", "p4d.24xlarge", "us-east-1", Market::kSpot});
  dear.rate = Rate::per_hour(usd("20"));
  fleet.catalog = fleet.catalog.with_prices(std::vector{dear});
  EXPECT_EQ(plan_range(findings, fleet.facts, fleet.catalog, cost_at("20"))->high, cost_at("22"));
}

TEST(Headline, ObstaclesOfOneMachineDoNotCountTwice) {
  TestFleet fleet;
  fleet.add("a", "aws", "p4d.24xlarge", WorkloadKind::kTraining, {{}});  // 22 × 720 = 15,840
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  Finding smaller = saving_of_kind(ResizeNodes{{"a"}, "p3.8xlarge", "", 1}, "0", 0);
  smaller.title = "Replace it";
  smaller.caveats = {"jobs take longer"};
  smaller.remedy = "time";
  Finding stop = saving_of_kind(StopNodes{{"a"}}, "0", 0);
  stop.title = "Stop it";
  Finding left_out = stop;
  left_out.id = "F-1";
  const std::vector<std::string> without = {"F-1"};
  const auto obstacles = obstacles_of(std::vector{left_out, smaller, stop}, without, Books(fleet.facts, prices));
  // (22 − 12.24) × 720; a machine's structure changes once, so that stopping it too is not counted.
  ASSERT_THAT(obstacles, SizeIs(1));
  EXPECT_EQ(obstacles[0].amount, usd("7027.2"));
  EXPECT_EQ(obstacles[0].what, "Replace it");
  EXPECT_EQ(obstacles[0].remedy, "time (now: jobs take longer)");
}

TEST(Headline, AGapIsMadeUpOfObstaclesAndWhatNoneReaches) {
  const std::vector<Obstacle> obstacles = {{"a", usd("7"), "x"}, {"b", usd("4"), "y"}};
  EXPECT_THAT(gap_of(obstacles, usd("9")), ElementsAre(Field(&Obstacle::amount, usd("7")), Field(&Obstacle::amount, usd("2"))));
  const auto more = gap_of(obstacles, usd("12.5"));
  ASSERT_THAT(more, SizeIs(3));
  EXPECT_EQ(more[2].what, "no change known here");
  EXPECT_EQ(more[2].amount, usd("1.5"));
}

TEST(Headline, DataAreCompleteOnlyWhereEachCheckSaysSo) {
  AuditReport report;
  report.totals.coverage_pct = 99;
  report.totals.gpu_hours = 100;
  report.imports = {{"focus", "bill.csv", "f", kSoonAfter, 10, 3, 2}};
  report.findings = {saving_of_kind(StopNodes{{"a"}}, "8", 1), saving_of_kind(StopNodes{{"b"}}, "2", 2)};
  report.findings[1].price_doubt = PriceDoubt::kEstimated;
  Ledger ledger;
  ledger.coverage = {{"aws", {*parse_instant("2026-06-01"), *parse_instant("2026-06-11")}}};
  report.coverage = {"The bill does not cover the whole period"};
  const auto checks = data_checks(report, ledger);
  ASSERT_THAT(checks, SizeIs(4));
  EXPECT_FALSE(checks[0].complete);
  EXPECT_EQ(checks[0].says, "aws 2026-06-01 to 2026-06-10");
  EXPECT_FALSE(checks[1].complete);
  EXPECT_EQ(checks[1].says, "3 rows refused, 2 rows that were there already left out, of 1 import");
  EXPECT_TRUE(checks[2].complete);
  EXPECT_FALSE(checks[3].complete);
  EXPECT_EQ(checks[3].says, "of the saving, 2.00 USD on estimated prices");
}

}  // namespace
}  // namespace stint
