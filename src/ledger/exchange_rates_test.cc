#include "ledger/exchange_rates.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

Currency coin(std::string_view code) { return Currency::parse(code).value(); }
Money amount(std::string_view decimal, std::string_view code) { return Money::parse(decimal, coin(code)).value(); }
Instant day(std::string_view text) { return parse_instant(text).value(); }

/// What a euro is worth on Friday 2026-10-02, Monday 5 and Friday 9.
ExchangeRates of_a_week() {
  const Currency euro = coin("EUR");
  const std::vector<ExchangeRate> rates = {{day("2026-10-09"), euro, amount("1.16", "USD")},
                                           {day("2026-10-02"), euro, amount("1.17", "USD")},
                                           {day("2026-10-05"), euro, amount("1.25", "USD")},
                                           {day("2026-10-05"), euro, amount("175", "JPY")},
                                           {day("2026-10-09"), euro, amount("174", "JPY")}};
  return ExchangeRates(rates);
}

TEST(ExchangeRates, BothWaysAndThroughTheBase) {
  const ExchangeRates rates = of_a_week();
  const Instant monday = day("2026-10-05") + kHour * 23;
  EXPECT_EQ(*rates.convert(amount("80", "EUR"), coin("USD"), monday), amount("100", "USD"));
  EXPECT_EQ(*rates.convert(amount("100", "USD"), coin("EUR"), monday), amount("80", "EUR"));
  EXPECT_EQ(*rates.convert(amount("100", "USD"), coin("JPY"), monday), amount("14000", "JPY"));
  EXPECT_EQ(*rates.convert(amount("-7000", "JPY"), coin("USD"), monday), amount("-50", "USD"));
  EXPECT_EQ(*rates.convert(amount("5", "USD"), coin("USD"), day("1999-01-01")), amount("5", "USD"));
}

TEST(ExchangeRates, OneRoundingHalfToEven) {
  // A third of a nano-euro each: 1/1.25 of 3 nano-dollars is 2.4; of 5 it is 4; half-way cases go to the even one.
  const ExchangeRates rates = of_a_week();
  const Instant monday = day("2026-10-05");
  EXPECT_EQ(rates.convert(Money::nanos(3), coin("EUR"), monday)->count_nanos(), 2);
  const ExchangeRates halves(std::vector<ExchangeRate>{{monday, coin("USD"), amount("0.5", "GBP")}});
  EXPECT_EQ(halves.convert(Money::nanos(5), coin("GBP"), monday)->count_nanos(), 2);
  EXPECT_EQ(halves.convert(Money::nanos(7), coin("GBP"), monday)->count_nanos(), 4);
  EXPECT_EQ(halves.convert(Money::nanos(-5), coin("GBP"), monday)->count_nanos(), -2);
}

TEST(ExchangeRates, ADayWithoutOneHasThatBefore) {
  const ExchangeRates rates = of_a_week();
  EXPECT_EQ(*rates.convert(amount("1", "EUR"), coin("USD"), day("2026-10-04")), amount("1.17", "USD")) << "a Sunday";
  EXPECT_EQ(*rates.convert(amount("1", "EUR"), coin("USD"), day("2026-10-16")), amount("1.16", "USD")) << "seven days";
  const auto late = rates.convert(amount("1", "EUR"), coin("USD"), day("2026-10-17"));
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("no exchange rate from EUR to USD for 2026-10-17 (the last one is of 2026-10-09)"));
  EXPECT_THAT(late.error().message, HasSubstr("stint import exchange-rates"));
  EXPECT_THAT(rates.convert(amount("1", "EUR"), coin("USD"), day("2026-10-01")).error().message, HasSubstr("for 2026-10-01: "))
      << "before the first";
  EXPECT_THAT(rates.convert(amount("1", "GBP"), coin("USD"), day("2026-10-09")).error().message,
              HasSubstr("(there is none of GBP at all)"));
  EXPECT_TRUE(rates.convert(amount("1", "EUR"), coin("USD"), day("2027-03-01"), Duration::hours(200 * 24)).ok());
}

TEST(ExchangeRates, AZeroNeedsNone) {
  const auto none = ExchangeRates().convert(amount("0", "EUR"), coin("USD"), day("2026-10-05"));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, amount("0", "USD"));
  EXPECT_FALSE(ExchangeRates().convert(amount("1", "EUR"), coin("USD"), day("2026-10-05")).ok());
}

TEST(ExchangeRates, TheLaterOfTwoOfADayCounts) {
  const Instant monday = day("2026-10-05");
  const ExchangeRates rates(std::vector<ExchangeRate>{{monday, coin("EUR"), amount("1.25", "USD")},
                                                      {monday, coin("EUR"), amount("1.5", "USD")},
                                                      {monday - kHour * 24, coin("EUR"), amount("9", "USD")}});
  EXPECT_EQ(*rates.convert(amount("1", "EUR"), coin("USD"), monday), amount("1.5", "USD"));
}

TEST(ExchangeRates, ARateBetweenTheTwoComesBeforeOneThroughAThird) {
  const Instant monday = day("2026-10-05");
  const ExchangeRates rates(std::vector<ExchangeRate>{{monday, coin("EUR"), amount("1.25", "USD")},
                                                      {monday, coin("EUR"), amount("1", "GBP")},
                                                      {monday, coin("USD"), amount("0.75", "GBP")}});
  EXPECT_EQ(*rates.convert(amount("100", "USD"), coin("GBP"), monday), amount("75", "GBP"));
}

TEST(ExchangeRates, WhatDoesNotFitIsAnError) {
  const ExchangeRates rates(std::vector<ExchangeRate>{{day("2026-10-05"), coin("EUR"), amount("20000", "IDR")}});
  const auto much = rates.convert(amount("1000000", "EUR"), coin("IDR"), day("2026-10-05"));
  ASSERT_FALSE(much.ok());
  EXPECT_THAT(much.error().message, HasSubstr("1,000,000.00 EUR does not fit in IDR"));
}

}  // namespace
}  // namespace stint
