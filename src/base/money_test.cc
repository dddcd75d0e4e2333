#include "base/money.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"

namespace stint {
namespace {

Money usd(std::string_view decimal) { return Money::parse(decimal).value(); }

TEST(Money, ReadsDecimalsExactly) {
  EXPECT_EQ(usd("1.624").count_nanos(), 1'624'000'000);
  EXPECT_EQ(usd("0.00000080000").count_nanos(), 800);
  EXPECT_EQ(usd("-12.5").count_nanos(), -12'500'000'000);
  EXPECT_EQ(usd("1.5e-7").count_nanos(), 150);
  EXPECT_EQ(usd("2E3").count_nanos(), 2'000'000'000'000);
  EXPECT_EQ(usd("+.5").count_nanos(), 500'000'000);
}

TEST(Money, RoundsHalfToEvenOnceBeyondNineDecimals) {
  EXPECT_EQ(usd("0.0000000005").count_nanos(), 0);
  EXPECT_EQ(usd("0.0000000015").count_nanos(), 2);
  EXPECT_EQ(usd("0.0000000025").count_nanos(), 2);
  EXPECT_EQ(usd("0.00000000250000000000000000001").count_nanos(), 3);
  EXPECT_EQ(usd("-0.0000000015").count_nanos(), -2);
  EXPECT_EQ(usd("1e-400").count_nanos(), 0);
}

TEST(Money, RefusesWhatIsNoAmount) {
  for (const char* text : {"", ".", "-", "1.2.3", "1,000", "12 USD", "NaN", "inf", "0x10", "1e", "1e9999", "--1"})
    EXPECT_FALSE(Money::parse(text).ok()) << text;
}

TEST(Money, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(Money::parse("9223372036.854775807").ok());
  EXPECT_FALSE(Money::parse("9223372036.854775808").ok());
  EXPECT_FALSE(Money::parse("1e30").ok());
  EXPECT_FALSE(Money::parse("99999999999999999999999999999999999999999999").ok());
}

TEST(Money, PrintsForPeopleAndForMachines) {
  EXPECT_EQ(usd("47000").to_text(), "47,000.00 USD");
  EXPECT_EQ(usd("-1234567.895").to_text(), "-1,234,567.90 USD");
  EXPECT_EQ(usd("0.004").to_text(), "0.00 USD");
  EXPECT_EQ(usd("999.999").to_text(0), "1,000 USD");
  EXPECT_EQ(usd("-0.5").to_decimal(), "-0.5");
  EXPECT_EQ(usd("1.624").to_decimal(), "1.624");
}

TEST(Money, TwoCurrenciesNeverAdd) {
  const Money eur = Money::units(1, Currency::parse("EUR").value());
  EXPECT_DEATH((void)(eur + usd("1")), "adding USD to EUR");
  EXPECT_DEATH((void)(eur < usd("1")), "comparing");
}

TEST(Money, OverflowIsCaught) { EXPECT_DEATH((void)(usd("9223372036") + usd("1")), "does not fit"); }

TEST(Split, PartsSumToTheWholeUnderAnyWeights) {
  const uint64_t seed = 20261121;
  SCOPED_TRACE(seed);
  Prng prng(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> weights(1 + prng.below(40));
    for (int64_t& w : weights)
      w = prng.below(3) == 0 ? 0 : static_cast<int64_t>(prng.below(1'000'000'000'000));
    weights[prng.below(weights.size())] += 1;
    const Money whole = Money::nanos(static_cast<int64_t>(prng.below(4'000'000'000'000'000'000)) - 2'000'000'000'000'000'000);
    const auto parts = split_by_largest_remainder(whole, weights);
    Money sum = Money::nanos(0);
    for (const Money p : parts)
      sum += p;
    ASSERT_EQ(sum, whole);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (weights[i] == 0) {
        ASSERT_TRUE(parts[i].is_zero());
      }
    }
  }
}

TEST(Split, NoPartIsOffByOneNanoOrMore) {
  const std::vector<int64_t> thirds = {1, 1, 1};
  const auto parts = split_by_largest_remainder(Money::nanos(100), thirds);
  EXPECT_EQ(parts[0].count_nanos(), 34);  // ties go to the lower index
  EXPECT_EQ(parts[1].count_nanos(), 33);
  EXPECT_EQ(parts[2].count_nanos(), 33);
}

TEST(Split, CreditsSplitLikeCharges) {
  const std::vector<int64_t> weights = {3, 7};
  const auto parts = split_by_largest_remainder(Money::nanos(-11), weights);
  EXPECT_EQ(parts[0].count_nanos(), -3);
  EXPECT_EQ(parts[1].count_nanos(), -8);
}

TEST(Rate, TheYearOfAP32xlarge) {
  const Rate on_demand = Rate::parse_per_hour("3.06").value();
  const Rate reserved = Rate::parse_per_hour("1.82").value();
  EXPECT_EQ(on_demand.over(Duration::hours(kHoursPerYear)), usd("26805.60"));
  EXPECT_EQ(reserved.over(Duration::hours(kHoursPerYear)), usd("15943.20"));
}

TEST(Exchanged, RoundsOnceAndSaysWhenItDoesNotFit) {
  const Currency rupiah = Currency::parse("IDR").value();
  EXPECT_EQ(exchanged(usd("100"), rupiah, 16'000, 1), Money::units(1'600'000, rupiah));
  EXPECT_EQ(exchanged(Money::nanos(5), rupiah, 1, 2), Money::nanos(2, rupiah));
  EXPECT_EQ(exchanged(Money::nanos(-7), rupiah, 1, 2), Money::nanos(-4, rupiah));
  EXPECT_EQ(exchanged(usd("1000000"), rupiah, 16'000, 1), std::nullopt);
  EXPECT_EQ(exchanged(usd("-1000000"), rupiah, 16'000, 1), std::nullopt);
}

TEST(Scale, RoundsHalfToEven) {
  EXPECT_EQ(scale(Money::nanos(5), 1, 2).count_nanos(), 2);
  EXPECT_EQ(scale(Money::nanos(7), 1, 2).count_nanos(), 4);
  EXPECT_EQ(scale(Money::nanos(-5), 1, 2).count_nanos(), -2);
}

}  // namespace
}  // namespace stint
