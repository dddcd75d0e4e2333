#include "advise/track/budget_outlook.h"

#include <gmock/gmock.h>

#include <cmath>

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const Interval kNovember = *parse_month("2026-11");  // begins on a Sunday, 30 days
Instant november(int64_t day) { return kNovember.begin + kHour * (24 * (day - 1)); }

/// Daily lines of one client; day 1 is 1 November, days before are 0, −1, …
struct Bill {
  void day(int64_t day, int64_t units) { line({november(day), november(day + 1)}, units); }
  void line(Interval charged, int64_t units, const std::string& client = "blue") { lines.push_back({charged, units, client}); }
  [[nodiscard]] Ledger from(Instant begin) const {
    Ledger out;
    out.period = {begin, kNovember.end};
    for (const auto& [charged, units, client] : lines) {
      if (charged.begin < begin) continue;
      BillLine line;
      line.charge_period = charged;
      line.service = "machines";
      out.lines.push_back(line);
      out.line_amounts.push_back(Money::units(units));
      Posting posting;
      posting.bill_line = static_cast<uint32_t>(out.lines.size() - 1);
      posting.tenant = out.tenants.intern({.client = client, .project = {}, .team = {}, .environment = {}, .workload = {}});
      posting.amount = Money::units(units);
      out.postings.push_back(posting);
    }
    return out;
  }
  [[nodiscard]] Result<BudgetOutlook> look(int64_t budget, const std::string& client = "blue") const {
    const std::vector<ClientBudget> budgets = {{.client = client, .month = {}, .budget = Money::units(budget), .line = 2}};
    return look_ahead(kNovember, from(kNovember.begin), from(kNovember.begin - kOutlookPast), budgets);
  }
  struct Line {
    Interval charged;
    int64_t units;
    std::string client;
  };
  std::vector<Line> lines;
};

/// So much on each of the days.
Bill steady(int64_t first, int64_t last, int64_t units) {
  Bill out;
  for (int64_t d = first; d <= last; ++d)
    out.day(d, units);
  return out;
}

// 10 a day for ten days: 100 spent, 300 at the end, without noise. 250 are passed on the 26th day.
TEST(BudgetOutlook, AConstantRateGoesOn) {
  const auto o = steady(1, 10, 10).look(250);
  ASSERT_TRUE(o.ok());
  const BudgetRow& row = o->rows[0];
  EXPECT_EQ(o->as_of, november(11));
  EXPECT_EQ(row.spent, Money::units(100));
  EXPECT_EQ(row.per_day, Money::units(10));
  EXPECT_EQ(row.end->expected, Money::units(300));
  EXPECT_EQ(row.end->low, Money::units(300));
  EXPECT_EQ(row.end->high, Money::units(300));
  EXPECT_EQ(row.runs_out, november(26));
  EXPECT_EQ(row.verdict, BudgetVerdict::kWillExceed);
  EXPECT_EQ(o->over(), 1U);
  EXPECT_EQ(steady(1, 10, 10).look(300)->rows[0].verdict, BudgetVerdict::kWithin);
}

// Four weeks of 10 on working days and 0 at weekends, to Saturday the 28th (the last four weeks are 1 to 28 November): Sunday and Monday come.
TEST(BudgetOutlook, WeekendsAreExpectedAsWeekends) {
  Bill bill;
  for (int64_t d = 1; d <= 28; ++d)
    bill.day(d, d % 7 == 0 || d % 7 == 1 ? 0 : 10);
  const auto o = bill.look(1000);
  EXPECT_EQ(o->rows[0].spent, Money::units(200));
  EXPECT_EQ(o->rows[0].end->expected, Money::units(210));
  EXPECT_EQ(o->rows[0].per_day, Money::nanos(7'142'857'143));  // 50 in seven days
}

// Ten days of 8 and 12 in turn: mean 10, s² = 10 · 4 / 9, days alternate so they do not go together. Twenty days come:
// variance 40/9 · (20 + 400/10), and 1.2816 times its root is 20.93.
TEST(BudgetOutlook, TheIntervalIsOfDaysAndOfTheirMean) {
  Bill bill;
  for (int64_t d = 1; d <= 10; ++d)
    bill.day(d, d % 2 == 0 ? 12 : 8);
  const auto o = bill.look(310);
  const double reach = 1.2816 * std::sqrt(40.0 / 9 * 60);
  EXPECT_NEAR(reach, 20.93, 0.01);
  EXPECT_NEAR(o->rows[0].end->expected.to_double(), 300, 1e-6);
  EXPECT_NEAR(o->rows[0].end->low.to_double(), 300 - reach, 1e-6);
  EXPECT_NEAR(o->rows[0].end->high.to_double(), 300 + reach, 1e-6);
  EXPECT_EQ(o->rows[0].verdict, BudgetVerdict::kAtRisk);  // 300 < 310 < 320.9
}

TEST(BudgetOutlook, AnExceededBudgetSaysTheDay) {
  const auto o = steady(1, 10, 10).look(55);
  EXPECT_EQ(o->rows[0].verdict, BudgetVerdict::kExceeded);
  EXPECT_EQ(o->rows[0].runs_out, november(6));
}

// A fee of the whole month is spent, and not spent again; one of ten days goes on: 30 of ten days become 90.
TEST(BudgetOutlook, LongerLinesCountOnceOrGoOnAtTheirRate) {
  Bill bill = steady(1, 10, 10);
  bill.line(kNovember, 60);
  EXPECT_EQ(bill.look(1000)->rows[0].spent, Money::units(160));
  EXPECT_EQ(bill.look(1000)->rows[0].end->expected, Money::units(360));
  bill.line({november(1), november(11)}, 30);
  EXPECT_NEAR(bill.look(1000)->rows[0].end->expected.to_double(), 450, 1e-6);
}

TEST(BudgetOutlook, SixDaysAreNoForecastAndAWholeMonthNeedsNone) {
  const auto few = steady(1, 6, 10).look(1000);
  EXPECT_FALSE(few->rows[0].end);
  EXPECT_EQ(few->rows[0].verdict, BudgetVerdict::kNotKnown);
  const auto whole = steady(1, 30, 10).look(1000);
  EXPECT_EQ(whole->rows[0].end->low, Money::units(300));
  EXPECT_EQ(whole->rows[0].verdict, BudgetVerdict::kWithin);
}

TEST(BudgetOutlook, TheWholeBillHasEveryClientAndWhatNoBudgetNamesIsSaid) {
  Bill bill = steady(1, 10, 10);
  bill.line({november(3), november(4)}, 7, "red");
  EXPECT_EQ(bill.look(1000, kWholeBill)->rows[0].spent, Money::units(107));
  EXPECT_EQ(bill.look(1000)->without_budget, Money::units(7));
}

TEST(BudgetOutlook, AMonthsOwnBudgetGoesBeforeThatOfEveryMonth) {
  const Bill bill = steady(1, 10, 10);
  std::vector<ClientBudget> budgets = {
      {.client = "blue", .month = {}, .budget = Money::units(1), .line = 2},
      {.client = "blue", .month = kNovember, .budget = Money::units(900), .line = 3},
      {.client = "blue", .month = *parse_month("2026-10"), .budget = Money::units(2), .line = 4}};
  const auto o = look_ahead(kNovember, bill.from(kNovember.begin), bill.from(november(-27)), budgets);
  ASSERT_THAT(o->rows, SizeIs(1));
  EXPECT_EQ(o->rows[0].budget, Money::units(900));
  budgets[1].budget = Money::units(900, *Currency::parse("EUR"));
  const auto mixed = look_ahead(kNovember, bill.from(kNovember.begin), bill.from(november(-27)), budgets);
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(mixed.error().message, HasSubstr("line 3"));
}

}  // namespace
}  // namespace stint
