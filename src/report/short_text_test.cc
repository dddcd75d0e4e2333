#include "report/short_text.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

std::string shown(std::string_view decimal) { return short_amount(*Money::parse(decimal)); }

TEST(ShortAmount, HasTwoDecimals) {
  EXPECT_EQ(shown("47000"), "47,000.00");
  EXPECT_EQ(shown("12.290000000"), "12.29");
  EXPECT_EQ(shown("12.3456789"), "12.35");
  EXPECT_EQ(shown("0"), "0.00");
  EXPECT_EQ(shown("-1200.5"), "-1,200.50");
}

TEST(ShortAmount, HasUpToFourWhereTheySaySomething) {
  EXPECT_EQ(shown("1.624"), "1.624");
  EXPECT_EQ(shown("0.0113"), "0.0113");
  EXPECT_EQ(shown("0.011326"), "0.0113");
  EXPECT_EQ(shown("0.70"), "0.70");
  EXPECT_EQ(shown("-0.064"), "-0.064");
}

TEST(ShortAmount, KeepsTwoDigitsOfVerySmallAmounts) {
  EXPECT_EQ(shown("0.0000008"), "0.0000008");
  EXPECT_EQ(shown("0.000123456"), "0.00012");
  EXPECT_EQ(shown("0.000000001"), "0.000000001");
}

TEST(ShortMoney, NamesTheCurrency) { EXPECT_EQ(short_money(*Money::parse("3.5", *Currency::parse("EUR"))), "3.50 EUR"); }

TEST(ExactMoney, KeepsWhatMatters) {
  EXPECT_EQ(exact_money(*Money::parse("30.000000001")), "30.000000001 USD");
  EXPECT_EQ(exact_money(*Money::parse("47000")), "47,000.00 USD");
}

TEST(ShortUtc, LeavesOutFractions) {
  EXPECT_EQ(short_utc(std::string_view("2026-10-01T00:00:05.123456789Z")), "2026-10-01 00:00:05");
  EXPECT_EQ(short_utc(*parse_instant("2026-10-01T00:00:05Z")), "2026-10-01 00:00:05");
  EXPECT_EQ(short_utc(std::string_view("never")), "never");
}

}  // namespace
}  // namespace stint
