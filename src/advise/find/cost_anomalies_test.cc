#include "advise/find/cost_anomalies.h"

#include <gmock/gmock.h>

#include "advise/find/daily_cost.h"

namespace stint {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kMonday = *parse_instant("2026-09-07T00:00:00Z");
Instant day(int64_t n) { return kMonday + kHour * (24 * n); }

/// Storage of one client, one line a day: what posting makes of it is the line itself.
Ledger ledger_of(const std::vector<int64_t>& units_by_day, const std::string& client = "red") {
  Ledger out;
  out.period = {day(0), day(static_cast<int64_t>(units_by_day.size()))};
  const TenantId tenant = out.tenants.intern({.client = client, .project = {}, .team = {}, .environment = {}, .workload = {}});
  for (size_t d = 0; d < units_by_day.size(); ++d) {
    BillLine line;
    line.provider = "aws";
    line.service = "disks";
    line.spend = SpendKind::kStorage;
    line.charge_period = {day(static_cast<int64_t>(d)), day(static_cast<int64_t>(d) + 1)};
    line.billed = line.effective = Money::units(units_by_day[d]);
    out.line_amounts.push_back(line.effective);
    out.lines.push_back(std::move(line));
    Posting posting;
    posting.bill_line = static_cast<uint32_t>(d);
    posting.tenant = tenant;
    posting.spend = SpendKind::kStorage;
    posting.amount = Money::units(units_by_day[d]);
    out.postings.push_back(posting);
  }
  return out;
}

/// 100 on working days, 20 at weekends.
std::vector<int64_t> weeks(size_t n) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < 7 * n; ++d)
    out.push_back(d % 7 < 5 ? 100 : 20);
  return out;
}

CostAnomalies found_in(const std::vector<int64_t>& days, int64_t from) {
  const Ledger ledger = ledger_of(days);
  return find_cost_anomalies(ledger, {day(from), ledger.period.end}, {});
}

TEST(CostAnomalies, AWeekendIsNotOffAndAWorkingDayOnASundayIs) {
  std::vector<int64_t> days = weeks(5);
  EXPECT_THAT(found_in(days, 28).anomalies, IsEmpty());
  days[34] = 100;  // the fifth Sunday
  const CostAnomalies found = found_in(days, 28);
  ASSERT_THAT(found.anomalies, SizeIs(1));
  EXPECT_EQ(found.anomalies[0].first_day, day(34));
  EXPECT_EQ(found.anomalies[0].expected, Money::units(20));
  EXPECT_EQ(found.anomalies[0].excess(), Money::units(80));
  EXPECT_DOUBLE_EQ(found.anomalies[0].score, 80 / (0.05 * 2680 / 34));  // by 5 % of the mean day: 25 × 100 + 9 × 20 in 34 days
}

// Tuesdays of 96, 98, 102, 104: their median is 100. Of 28 days, 24 lie 0 from their medians, so the MAD is 0 and a deviation is 5 % of 100.
TEST(CostAnomalies, TheThresholdIsThreeAndAHalfDeviations) {
  std::vector<int64_t> days = weeks(5);
  for (size_t week = 0; week < 4; ++week)
    days[7 * week + 1] = std::array{96, 98, 102, 104}[week];
  days[29] = 117;  // 3.4 deviations
  EXPECT_THAT(found_in(days, 28).anomalies, IsEmpty());
  days[29] = 118;  // 3.6
  ASSERT_THAT(found_in(days, 28).anomalies, SizeIs(1));
  EXPECT_NEAR(found_in(days, 28).anomalies[0].score, 3.6, 1e-9);
}

// All days go 90, 110, 90, 110 by week: medians of 100, every day 10 off, a deviation of 14.826: 151 is 3.44 of them, 153 is 3.57.
TEST(CostAnomalies, NoisySeriesMayGoFurther) {
  std::vector<int64_t> days;
  for (size_t d = 0; d < 35; ++d)
    days.push_back(d / 7 % 2 == 0 ? 90 : 110);
  days[30] = 151;
  EXPECT_THAT(found_in(days, 28).anomalies, IsEmpty());
  days[30] = 153;
  ASSERT_THAT(found_in(days, 28).anomalies, SizeIs(1));
  EXPECT_NEAR(found_in(days, 28).anomalies[0].score, 53 / 14.826, 1e-9);
}

// Work that comes on every sixth day, whatever the weekday: 7 of 42 days cost 300, so their 90 % quantile is 300 and a deviation 182.
TEST(CostAnomalies, BurstsAreNotUnusualWhereTheyAreUsual) {
  std::vector<int64_t> days;
  for (size_t d = 0; d < 49; ++d)
    days.push_back(d % 6 == 0 ? 300 : 0);
  EXPECT_THAT(found_in(days, 42).anomalies, IsEmpty());
  days[44] = 630;  // 3.45 deviations
  EXPECT_THAT(found_in(days, 42).anomalies, IsEmpty());
  days[44] = 650;
  EXPECT_THAT(found_in(days, 42).anomalies, SizeIs(1));
}

// 35 days: those from the 33rd on are the last three.
TEST(CostAnomalies, WhatReachesIntoTheLastThreeDaysIsRecent) {
  std::vector<int64_t> days = weeks(5);
  days[31] = 500;
  EXPECT_FALSE(found_in(days, 28).anomalies.at(0).recent);
  EXPECT_EQ(found_in(days, 28).until, day(35));
  days[32] = 500;  // goes on: one of two days
  ASSERT_THAT(found_in(days, 28).anomalies, SizeIs(1));
  EXPECT_TRUE(found_in(days, 28).anomalies[0].recent);
  EXPECT_EQ(found_in({}, 0).until, std::nullopt);
}

TEST(CostAnomalies, LessThanTheLeastAmountIsNone) {
  std::vector<int64_t> days(35, 2);
  days[30] = 11;  // far off, by 9
  EXPECT_THAT(found_in(days, 28).anomalies, IsEmpty());
  days[30] = 12;
  EXPECT_THAT(found_in(days, 28).anomalies, SizeIs(1));
}

TEST(CostAnomalies, ThreeWeeksAreTooShortAPast) {
  std::vector<int64_t> days = weeks(4);
  days[27] = 500;
  const CostAnomalies found = found_in(days, 21);
  EXPECT_THAT(found.anomalies, IsEmpty());
  EXPECT_EQ(found.series, 1U);
  EXPECT_EQ(found.judged, 0U);
}

TEST(CostAnomalies, DaysInARowAreOneAndAnEarlierOneHidesNothing) {
  std::vector<int64_t> days = weeks(7);
  days[30] = 900;  // Wednesday of the fifth week, and two weeks later Wednesday to Friday
  days[44] = days[45] = days[46] = 900;
  const CostAnomalies found = found_in(days, 42);
  ASSERT_THAT(found.anomalies, SizeIs(1));
  EXPECT_EQ(found.anomalies[0].first_day, day(44));
  EXPECT_EQ(found.anomalies[0].days, 3U);
  EXPECT_EQ(found.anomalies[0].excess(), Money::units(2400));
}

TEST(CostAnomalies, AServiceThatStopsIsOneToo) {
  std::vector<int64_t> days(35, 100);
  Ledger ledger = ledger_of(days);
  Ledger other = ledger_of(days, "blue");
  // Red's last line goes to blue: the day is covered, and red has nothing on it.
  ledger.postings.back().tenant = ledger.tenants.intern(other.tenants[TenantId(0)]);
  const CostAnomalies found = find_cost_anomalies(ledger, {day(28), ledger.period.end}, {});
  ASSERT_THAT(found.anomalies, SizeIs(1));
  EXPECT_EQ(found.anomalies[0].client, "red");
  EXPECT_EQ(found.anomalies[0].excess(), Money::units(-100));
  EXPECT_LT(found.anomalies[0].score, 0);
}

TEST(CostAnomalies, LinesLongerThanADayAreNamedNotSpread) {
  Ledger ledger = ledger_of(std::vector<int64_t>(35, 10));
  BillLine fee;
  fee.provider = "aws";
  fee.service = "support";
  fee.charge_period = {day(28), day(35)};
  fee.effective = Money::units(70);
  ledger.lines.push_back(fee);
  ledger.line_amounts.push_back(fee.effective);
  Posting posting;
  posting.bill_line = 35;
  posting.tenant = TenantId(0);
  posting.amount = fee.effective;
  ledger.postings.push_back(posting);
  const CostAnomalies found = find_cost_anomalies(ledger, {day(28), day(35)}, {});
  EXPECT_EQ(found.undated, Money::units(70));
  EXPECT_EQ(found.series, 1U);
}

// Hourly lines of a day sum to it; the day that the bill has not finished is not a day yet.
TEST(DailyCost, HoldsWholeDays) {
  Ledger ledger;
  const TenantId tenant = ledger.tenants.intern({});
  for (int64_t h = 0; h < 60; ++h) {
    BillLine line;
    line.charge_period = {kMonday + kHour * h, kMonday + kHour * (h + 1)};
    ledger.lines.push_back(line);
    ledger.line_amounts.push_back(Money::units(1));
    Posting posting;
    posting.bill_line = static_cast<uint32_t>(h);
    posting.tenant = tenant;
    posting.amount = Money::units(1);
    ledger.postings.push_back(posting);
  }
  const DailyCost daily = daily_cost(ledger);
  EXPECT_EQ(daily.days, 2U);
  EXPECT_EQ(daily.end(), day(2));
  ASSERT_THAT(daily.series, SizeIs(1));
  EXPECT_THAT(daily.series.begin()->second, ::testing::ElementsAre(Money::units(24), Money::units(24)));
}

}  // namespace
}  // namespace stint
