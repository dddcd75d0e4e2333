#include "ledger/invoice.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "base/prng.h"
#include "ledger/line_cut.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const Interval kOctober = parse_month("2026-10").value();
const Interval kNovember = parse_month("2026-11").value();

BillLine billed_line(ChargeCategory category, int64_t billed, int64_t effective, Interval month = kOctober) {
  BillLine line;
  line.provider = "aws";
  line.billing_account = "1111";
  line.category = category;
  line.billing_period = line.charge_period = month;
  line.billed = Money::units(billed);
  line.effective = Money::units(effective);
  return line;
}

InvoiceTotal total_of(Money total, std::string invoice = "", Interval month = kOctober, std::string account = "1111") {
  return {
      .provider = "aws", .account = std::move(account), .invoice = std::move(invoice), .month = month, .total = total, .line = 2};
}

TEST(Invoice, HasFeesInFullAndLeadsToAmortisedCost) {
  const std::vector<BillLine> lines = {
      billed_line(ChargeCategory::kUsage, 100, 100),  billed_line(ChargeCategory::kPurchase, 1200, 0),  // for a year
      billed_line(ChargeCategory::kUsage, 0, 90),                                                       // that the fee pays for
      billed_line(ChargeCategory::kUsage, 0, 10),                                                       // of it unused
      billed_line(ChargeCategory::kCredit, -50, -50), billed_line(ChargeCategory::kTax, 24, 24),
  };
  const auto made = reconcile(lines, {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_THAT(made->rows, SizeIs(1));
  const InvoiceRow& row = made->rows[0];
  EXPECT_EQ(row.lines, 6U);
  EXPECT_EQ(row.usage, Money::units(100));
  EXPECT_EQ(row.purchases, Money::units(1200));
  EXPECT_EQ(row.credits, Money::units(-50));
  EXPECT_EQ(row.tax, Money::units(24));
  EXPECT_EQ(row.imported, Money::units(1274));
  EXPECT_EQ(row.fees_spread, Money::units(1200));
  EXPECT_EQ(row.fees_used, Money::units(100));
  EXPECT_EQ(row.effective, Money::units(174));
  EXPECT_FALSE(row.invoiced);
  EXPECT_FALSE(row.matches());
  EXPECT_EQ(made->given(), 0U);
}

TEST(Invoice, ACorrectionCountsInTheMonthThatBillsIt) {
  BillLine correction = billed_line(ChargeCategory::kUsage, -30, -30, kNovember);
  correction.charge_period = kOctober;
  correction.correction = true;
  const std::vector<BillLine> lines = {billed_line(ChargeCategory::kUsage, 100, 100), correction,
                                       billed_line(ChargeCategory::kUsage, 80, 80, kNovember)};
  const auto made = reconcile(lines, std::vector{total_of(Money::units(100)), total_of(Money::units(50), "", kNovember)});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_THAT(made->rows, SizeIs(2));
  EXPECT_EQ(made->rows[1].corrections, Money::units(-30));
  EXPECT_EQ(made->rows[1].usage, Money::units(80));
  EXPECT_EQ(made->differing(), 0U);
  EXPECT_EQ(made->given(), 2U);
}

TEST(Invoice, ADifferenceOfHalfACentIsRoundingAndMoreIsNot) {
  std::vector<BillLine> lines = {billed_line(ChargeCategory::kUsage, 100, 100)};
  lines[0].billed = lines[0].effective = Money::parse("100.005").value();
  EXPECT_EQ(reconcile(lines, std::vector{total_of(Money::units(100))})->differing(), 0U);
  lines[0].billed = lines[0].effective = Money::parse("100.005000001").value();
  const auto made = reconcile(lines, std::vector{total_of(Money::units(100))});
  EXPECT_EQ(made->differing(), 1U);
  EXPECT_EQ(made->rows[0].difference(), Money::nanos(5'000'001));
}

TEST(Invoice, AnInvoiceWithoutABillDiffersByAllOfIt) {
  const std::vector<BillLine> lines = {billed_line(ChargeCategory::kUsage, 100, 100)};
  const auto made = reconcile(lines, std::vector{total_of(Money::units(7), "", kOctober, "2222")});
  ASSERT_THAT(made->rows, SizeIs(2));
  EXPECT_EQ(made->rows[1].difference(), Money::units(-7));
  EXPECT_EQ(made->rows[1].lines, 0U);
  EXPECT_EQ(made->differing(), 1U);
}

TEST(Invoice, NumbersSplitAnAccountWhereTotalsHaveThem) {
  std::vector<BillLine> lines = {billed_line(ChargeCategory::kUsage, 100, 100), billed_line(ChargeCategory::kUsage, 20, 20),
                                 billed_line(ChargeCategory::kUsage, 3, 3)};
  lines[0].invoice_id = "A";
  lines[1].invoice_id = "B";
  EXPECT_THAT(reconcile(lines, {})->rows, SizeIs(1));
  const auto made = reconcile(lines, std::vector{total_of(Money::units(100), "A"), total_of(Money::units(20), "B")});
  ASSERT_THAT(made->rows, SizeIs(3));
  EXPECT_EQ(made->rows[0].imported, Money::units(3));  // on neither
  EXPECT_FALSE(made->rows[0].invoiced);
  EXPECT_EQ(made->differing(), 0U);
  EXPECT_THAT(reconcile(lines, std::vector{total_of(Money::units(1), "A"), total_of(Money::units(2))}).error().message,
              HasSubstr("with and without an invoice number"));
  EXPECT_THAT(reconcile(lines, std::vector{total_of(Money::units(1), "A"), total_of(Money::units(2), "A")}).error().message,
              HasSubstr("has a total already"));
}

TEST(Invoice, CurrenciesStayApart) {
  const Currency eur = Currency::parse("EUR").value();
  std::vector<BillLine> lines = {billed_line(ChargeCategory::kUsage, 100, 100), billed_line(ChargeCategory::kUsage, 0, 0),
                                 billed_line(ChargeCategory::kUsage, 0, 0)};
  lines[0].billed = lines[0].effective = Money::units(100, eur);
  lines[1].effective = Money::units(8, eur);  // billed: 0 USD, which is 0
  const auto made = reconcile(lines, {});
  ASSERT_TRUE(made.ok());
  ASSERT_THAT(made->rows, SizeIs(1));
  EXPECT_EQ(made->rows[0].imported, Money::units(100, eur));
  EXPECT_EQ(made->rows[0].effective, Money::units(108, eur));
  lines[0].effective = Money::units(1);
  EXPECT_FALSE(reconcile(lines, {}).ok());
}

/// A charge split in time at random instants, as daily and hourly exports of one bill do.
std::vector<BillLine> split_in_time(const BillLine& line, Prng& random) {
  std::vector<Instant> at = {line.charge_period.begin, line.charge_period.end};
  for (uint64_t i = random.below(5); i > 0; --i)
    at.push_back(line.charge_period.begin + Duration::nanoseconds(static_cast<int64_t>(
                                                random.below(static_cast<uint64_t>(line.charge_period.length().count_ns())))));
  std::ranges::sort(at);
  std::vector<BillLine> parts;
  for (size_t i = 0; i + 1 < at.size(); ++i)
    if (const auto cut = cut_of(line, {at[i], at[i + 1]})) parts.push_back(cut_line(line, *cut));
  return parts;
}

// 10,000 invoices in three currencies, each a random sum of usage, fees, credits, tax and corrections, delivered in a random
// order and split anew in time: what is imported is the invoice, to the nano-unit, and the way to amortised cost holds.
TEST(InvoiceProperty, AnySplitInAnyCurrencySumsToTheInvoice) {
  constexpr uint64_t kSeed = 17;
  SCOPED_TRACE(kSeed);
  Prng random(kSeed);
  const std::array<Currency, 3> currencies = {Currency(), Currency::parse("EUR").value(), Currency::parse("JPY").value()};
  constexpr std::array kCategories = {ChargeCategory::kUsage, ChargeCategory::kPurchase, ChargeCategory::kTax,
                                      ChargeCategory::kCredit, ChargeCategory::kAdjustment};
  for (int round = 0; round < 10'000; ++round) {
    using Key = std::tuple<std::string, int64_t, Currency>;
    std::map<Key, std::pair<Money, Money>> told;  // billed, effective: added up before any split
    std::vector<BillLine> delivered;
    for (uint64_t i = 1 + random.below(6); i > 0; --i) {
      const Currency currency = currencies[random.below(3)];
      BillLine line = billed_line(kCategories[random.below(5)], 0, 0, random.below(2) == 0 ? kOctober : kNovember);
      if (random.below(4) == 0) line.correction = true, line.charge_period = kOctober;
      line.billing_account = random.below(2) == 0 ? "1111" : "2222";
      line.billed = Money::nanos(static_cast<int64_t>(random.below(2'000'000'000'001)) - 500'000'000'000, currency);
      line.effective = Money::nanos(static_cast<int64_t>(random.below(2'000'000'000'001)) - 500'000'000'000, currency);
      const auto [at, fresh] = told.try_emplace({line.billing_account, line.billing_period.begin.ns(), currency},
                                                std::pair(Money::nanos(0, currency), Money::nanos(0, currency)));
      at->second.first += line.billed;
      at->second.second += line.effective;
      const auto parts = split_in_time(line, random);
      delivered.insert(delivered.end(), parts.begin(), parts.end());
    }
    for (size_t i = delivered.size(); i > 1; --i)
      std::swap(delivered[i - 1], delivered[random.below(i)]);
    std::vector<InvoiceTotal> totals;
    for (const auto& [key, sums] : told)
      totals.push_back(
          total_of(sums.first, "", std::get<1>(key) == kOctober.begin.ns() ? kOctober : kNovember, std::get<0>(key)));
    const auto made = reconcile(delivered, totals);
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_EQ(made->rows.size(), told.size()) << round;
    for (const InvoiceRow& row : made->rows) {
      const auto& [billed, effective] = told.at({row.account, row.month.begin.ns(), row.imported.currency()});
      ASSERT_EQ(row.imported, billed) << round;
      ASSERT_EQ(row.effective, effective) << round;
      ASSERT_EQ(row.imported, row.usage + row.purchases + row.credits + row.tax + row.corrections) << round;
      ASSERT_EQ(row.effective, row.imported - row.fees_spread + row.fees_used) << round;
    }
  }
}

}  // namespace
}  // namespace stint
