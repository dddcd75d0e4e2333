#include <gmock/gmock.h>

#include "codec/testing_import.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Currency coin(std::string_view code) { return Currency::parse(code).value(); }
Money amount(std::string_view decimal, std::string_view code) { return Money::parse(decimal, coin(code)).value(); }
ExchangeRate a_euro(std::string_view day, std::string_view decimal, std::string_view code) {
  return {parse_instant(day).value(), coin("EUR"), amount(decimal, code)};
}

TestingSink rates_of(std::string_view text, Status* status = nullptr) {
  return import_text(make_exchange_rates_importer, {.source = "rates.csv"}, text, status);
}

TEST(ExchangeRatesImporter, TheCentralBanksHistoryHasADayARow) {
  const TestingSink sink = rates_of("Date,USD,JPY,CYP,\n2026-11-20,1.1512,178.31,N/A,\n2026-11-19,1.1499,N/A,N/A,\n");
  EXPECT_THAT(sink.exchange_rates, ElementsAre(a_euro("2026-11-20", "1.1512", "USD"), a_euro("2026-11-20", "178.31", "JPY"),
                                               a_euro("2026-11-19", "1.1499", "USD")));
  EXPECT_THAT(sink.rejected, IsEmpty());
}

TEST(ExchangeRatesImporter, TheFileOfOneDayWritesItsDateInWords) {
  const TestingSink sink = rates_of("Date, USD, JPY, \n20 November 2026, 1.1512, 178.31, \n");
  EXPECT_THAT(sink.exchange_rates, ElementsAre(a_euro("2026-11-20", "1.1512", "USD"), a_euro("2026-11-20", "178.31", "JPY")));
  EXPECT_THAT(rates_of("Date, USD\n3 May 2026, 1.1\n").exchange_rates, ElementsAre(a_euro("2026-05-03", "1.1", "USD")));
}

TEST(ExchangeRatesImporter, ARateARowHasItsOwnBase) {
  const TestingSink sink = rates_of("date,base,currency,rate\n2026-11-20,USD,GBP,0.7561\n");
  EXPECT_THAT(sink.exchange_rates, ElementsAre(ExchangeRate{*parse_instant("2026-11-20"), coin("USD"), amount("0.7561", "GBP")}));
  const TestingSink portal = rates_of(
      "KEY,FREQ,CURRENCY,CURRENCY_DENOM,TIME_PERIOD,OBS_VALUE\nEXR.D.USD.EUR.SP00.A,D,USD,EUR,2026-11-20,1.1512\n"
      "EXR.D.USD.EUR.SP00.A,D,USD,EUR,2026-11-21,NaN\n");
  EXPECT_THAT(portal.exchange_rates, ElementsAre(a_euro("2026-11-20", "1.1512", "USD")));
  EXPECT_THAT(portal.rejected, IsEmpty());
}

TEST(ExchangeRatesImporter, ABadRowIsRefusedWhole) {
  const TestingSink sink = rates_of(
      "Date,USD,JPY\n2026-11-20,1.1512,-3\n2026-13-01,1.15,178\n20 Brumaire "
      "2026,1.15,178\n2026-11-18,0,178\n2026-11-17,1.15,1e12\n"
      "2026-11-16,1.15\n");
  EXPECT_THAT(sink.exchange_rates, IsEmpty());
  ASSERT_THAT(sink.rejected, SizeIs(6));
  EXPECT_EQ(sink.rejected[0].first, 2U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("JPY: '-3' is no exchange rate"));
  EXPECT_THAT(sink.rejected[2].second, HasSubstr("write it like 2026-11-20"));
  const TestingSink rows =
      rates_of("date,base,currency,rate\n2026-11-20,USD,USD,1\n2026-11-20,dollar,EUR,1\n2026-11-20,EUR,USD,x\n");
  EXPECT_THAT(rows.exchange_rates, IsEmpty());
  EXPECT_THAT(rows.rejected, SizeIs(3));
}

TEST(ExchangeRatesImporter, AnotherFileIsRefusedWithItsReason) {
  const auto error = [](std::string_view text) {
    Status status;
    rates_of(text, &status);
    return status.ok() ? std::string("taken") : status.error().message;
  };
  EXPECT_THAT(error("day,USD\n2026-11-20,1.1\n"), HasSubstr("rates.csv: line 1: the header lacks the column date"));
  EXPECT_THAT(error("date,currency,rate\n"), HasSubstr("lacks the column base"));
  EXPECT_THAT(error("date,dollar\n"), HasSubstr("column 2: 'dollar' is no currency"));
  EXPECT_THAT(error("date\n"), HasSubstr("names no currency"));
}

}  // namespace
}  // namespace stint
