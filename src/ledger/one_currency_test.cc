#include "ledger/one_currency.h"

#include <gmock/gmock.h>

#include "base/prng.h"
#include "ledger/testing_books.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using testing::HandMade;
using ::testing::HasSubstr;
using testing::kStart;
using ::testing::Pair;

Currency coin(std::string_view code) { return Currency::parse(code).value(); }
Money amount(std::string_view decimal, std::string_view code) { return Money::parse(decimal, coin(code)).value(); }

/// A euro is 1.25 dollars and 160 yen at kStart, and a cent and a yen less a day later.
ExchangeRates two_days() {
  const Currency euro = coin("EUR");
  return ExchangeRates(std::vector<ExchangeRate>{{kStart, euro, amount("1.25", "USD")},
                                                 {kStart, euro, amount("160", "JPY")},
                                                 {kStart + kHour * 24, euro, amount("1.24", "USD")},
                                                 {kStart + kHour * 24, euro, amount("159", "JPY")}});
}

TEST(OneCurrency, SeveralAreAnErrorThatNamesTheRemedy) {
  HandMade books(48);
  EXPECT_EQ(*currency_of(books.history.bill), std::nullopt);
  books.compute("n1", amount("0", "JPY"));
  EXPECT_EQ(*currency_of(books.history.bill), std::nullopt) << "nothing is in no currency";
  books.compute("n1", amount("5", "EUR"));
  EXPECT_EQ(*currency_of(books.history.bill), coin("EUR"));
  books.compute("n1", amount("5", "USD"));
  books.compute("n1", amount("7", "USD"));
  const auto several = currency_of(books.history.bill);
  ASSERT_FALSE(several.ok());
  EXPECT_THAT(several.error().message, HasSubstr("(1 line in EUR, 2 lines in USD)"));
  EXPECT_THAT(several.error().message, HasSubstr("stint history currency"));
}

TEST(OneCurrency, EachLineAtTheRateOfTheDayOnWhichItBegins) {
  HandMade books(48);
  books.compute("n1", amount("125", "USD"), 0, 48).list = amount("250", "USD");
  books.compute("n1", amount("124", "USD"), 25, 26).list_unit_price = Rate::per_hour(amount("12.4", "USD"));
  books.compute("n1", amount("10", "EUR"));
  std::set<Currency> without;
  ASSERT_TRUE(convert(books.history, coin("EUR"), two_days(), without).ok());
  EXPECT_EQ(books.history.bill[0].effective, amount("100", "EUR"));
  EXPECT_EQ(books.history.bill[0].list, amount("200", "EUR"));
  EXPECT_EQ(books.history.bill[1].billed, amount("100", "EUR"));
  EXPECT_EQ(books.history.bill[1].list_unit_price->per_hour(), amount("10", "EUR"));
  EXPECT_EQ(books.history.bill[2].billed, amount("10", "EUR"));
  EXPECT_THAT(books.history.converted, ElementsAre(Pair(coin("USD"), 2)));
  const auto ledger = books.post({.period = books.history.period});
  ASSERT_TRUE(ledger.ok()) << ledger.error().message;
  EXPECT_EQ(ledger->total(), amount("210", "EUR"));
}

TEST(OneCurrency, ALineWithoutARateIsNamed) {
  HandMade books(48);
  books.compute("n1", amount("125", "GBP"));
  std::set<Currency> without;
  const Status done = convert(books.history, coin("EUR"), two_days(), without);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("n1: no exchange rate from GBP to EUR"));
}

TEST(OneCurrency, PricesWithoutARateStayAndAreTold) {
  HandMade books(48);
  const NodeId in_dollars = books.node("a", 1), in_pounds = books.node("b", 1);
  books.history.nodes[in_dollars.index()].rate = Rate::per_hour(amount("1.24", "USD"));
  books.history.nodes[in_pounds.index()].rate = Rate::per_hour(amount("1", "GBP"));
  books.history.happened = books.history.period;
  std::set<Currency> without;
  ASSERT_TRUE(convert(books.history, coin("EUR"), two_days(), without).ok());
  EXPECT_EQ(books.history.nodes[in_dollars.index()].rate->per_hour(), amount("1", "EUR")) << "the last rate, of the second day";
  EXPECT_EQ(books.history.nodes[in_pounds.index()].rate->per_hour(), amount("1", "GBP"));
  EXPECT_THAT(without, ElementsAre(coin("GBP")));

  PriceRow price;
  price.instance_type = "p4d.24xlarge";
  price.rate = Rate::per_hour(amount("24.8", "USD"));
  PriceRow own = price, pounds = price;
  own.rate = Rate::per_hour(amount("1", "EUR"));
  pounds.rate = Rate::per_hour(amount("1", "GBP"));
  const std::vector<PriceRow> rows = {price, own, pounds};
  const auto converted = converted_prices(rows, coin("EUR"), books.history.happened.end, two_days(), without);
  ASSERT_EQ(converted.size(), 1U);
  EXPECT_EQ(converted[0].rate.per_hour(), amount("20", "EUR"));
}

TEST(OneCurrency, RevenueAndBudgetsAtTheRateOfTheMonthsFirstDay) {
  const Interval both_days = {kStart, kStart + kHour * 48};
  std::vector<RevenueRow> revenue(2);
  revenue[1].month = {kStart - kHour * 9'000, kStart - kHour * 8'300};
  revenue[1].revenue = amount("1", "GBP");
  revenue[0].month = {kStart, kStart + kHour * 24};
  revenue[0].revenue = amount("125", "USD");
  revenue[0].cost_budget = amount("12.5", "USD");
  revenue[0].line = 2;
  ASSERT_TRUE(convert(revenue, both_days, coin("EUR"), two_days()).ok());
  EXPECT_EQ(revenue[0].revenue, amount("100", "EUR"));
  EXPECT_EQ(revenue[0].cost_budget, amount("10", "EUR"));
  EXPECT_EQ(revenue[1].revenue, amount("1", "GBP")) << "of another time";

  std::vector<ClientBudget> budgets(2);
  budgets[0].budget = budgets[1].budget = amount("124", "USD");
  const Interval second_day = {kStart + kHour * 24, kStart + kHour * 48};
  budgets[1].month = Interval{kStart, kStart + kHour * 24};
  ASSERT_TRUE(convert(budgets, second_day, coin("EUR"), two_days()).ok());
  EXPECT_EQ(budgets[0].budget, amount("100", "EUR"));
  EXPECT_EQ(budgets[1].budget, amount("124", "USD")) << "of another month";
  budgets[0].budget = amount("1", "GBP");
  budgets[0].line = 7;
  EXPECT_THAT(convert(budgets, second_day, coin("EUR"), two_days()).error().message, HasSubstr("line 7: no exchange rate"));
}

// 2,000 bills in three currencies, shown in one of them: the parts of any partition of the period sum to the whole, the whole is the
// sum of what each line converts to, and as billed every currency sums to what was billed.
TEST(OneCurrency, NothingIsLostOrMadeByConversionAndCutting) {
  const uint64_t seed = 20261123;
  SCOPED_TRACE(seed);
  Prng random(seed);
  const std::array<Currency, 3> coins = {coin("USD"), coin("EUR"), coin("JPY")};
  const ExchangeRates rates = two_days();
  for (int round = 0; round < 2'000; ++round) {
    HandMade books(96);
    const Currency shown = coins[random.below(3)];
    Money expected = Money::nanos(0, shown);
    std::map<Currency, Money> billed;
    for (uint64_t i = 0, n = 1 + random.below(8); i < n; ++i) {
      const auto from = static_cast<int64_t>(random.below(90)),
                 to = from + 1 + static_cast<int64_t>(random.below(96 - static_cast<uint64_t>(from)));
      const Money money =
          Money::nanos(static_cast<int64_t>(random.below(2'000'000'000'001)) - 500'000'000'000, coins[random.below(3)]);
      BillLine& line = books.compute("n1", money, from, to);
      if (random.below(2) == 0)
        line.charge_period.begin = line.charge_period.begin + Duration::minutes(static_cast<int64_t>(random.below(60)));
      expected += *rates.convert(money, shown, line.charge_period.begin);
      billed.try_emplace(money.currency(), Money::nanos(0, money.currency())).first->second += money;
    }
    const std::vector<BillLine> as_billed = books.history.bill;
    std::set<Currency> without;
    ASSERT_TRUE(convert(books.history, shown, rates, without).ok());

    Money sum = Money::nanos(0, shown);
    Instant begin = kStart;
    while (begin < books.history.period.end) {
      const Instant end =
          std::min(begin + Duration::minutes(1 + static_cast<int64_t>(random.below(3'000))), books.history.period.end);
      const auto part = books.post({.period = {begin, end}});
      ASSERT_TRUE(part.ok()) << part.error().message;
      ASSERT_TRUE(check_conservation(*part).ok());
      if (!part->lines.empty()) sum += part->total();
      begin = end;
    }
    ASSERT_EQ(sum, expected);

    auto whole = books.post({.period = books.history.period});
    ASSERT_TRUE(whole.ok());
    ASSERT_EQ(whole->total(), expected);
    show_as_billed(*whole, books.history, as_billed);
    std::map<Currency, Money> shown_as_billed;
    for (const BillLine& line : whole->lines)
      shown_as_billed.try_emplace(line.billed.currency(), Money::nanos(0, line.billed.currency())).first->second += line.billed;
    ASSERT_EQ(shown_as_billed, billed);
  }
}

TEST(OneCurrency, WhatCannotBeAddedUpIsAnErrorAndNoEnd) {
  HandMade books(48);
  for (int i = 0; i < 3; ++i)
    books.compute("n1", amount("3000000000", "VND"));
  const auto ledger = books.post({.period = books.history.period});
  ASSERT_FALSE(ledger.ok());
  EXPECT_THAT(ledger.error().message, HasSubstr("does not fit in VND"));
}

}  // namespace
}  // namespace stint
