#include "codec/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/prng.h"

namespace stint {
namespace {

TEST(Decimal, ReadsWhatStrtodReads) {
  constexpr uint64_t kSeed = 12;
  Prng prng(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const double drawn = (prng.uniform() - 0.3) * std::pow(10, static_cast<double>(prng.below(14)));
    const std::string text = i % 3 == 0 ? fmt::format("{:.{}f}", drawn, prng.below(7)) : fmt::format("{}", drawn);
    double value = 0;
    const char* const end = read_number(text.c_str(), value);
    ASSERT_EQ(end, text.c_str() + text.size()) << text << " seed " << kSeed;
    EXPECT_EQ(value, std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(Decimal, LeavesTheRestToTheSlowWay) {
  double value = 0;
  for (const char* text : {"1e5", "NaN", "+Inf", "9007199254740993", "1234567890123456789", "", "-", "."})
    EXPECT_EQ(read_decimal(text, value), nullptr) << text;
  EXPECT_NE(read_number("1e5\"", value), nullptr);
  EXPECT_EQ(value, 1e5);
  EXPECT_NE(read_number("NaN ", value), nullptr);
  EXPECT_TRUE(std::isnan(value));
  for (const char* text : {"", "abc", "+-1", "1e5x"})
    EXPECT_EQ(read_number(text, value), nullptr) << text;
  EXPECT_STREQ(read_number("0x10", value), "x10");
}

TEST(Decimal, TimesAreSecondsOrMillisecondsBySize) {
  const auto ns = [](std::string_view text) { return parse_unix_time(text).value_or(Instant::from_ns(-1)).ns(); };
  EXPECT_EQ(ns("1435781430"), 1'435'781'430'000'000'000);
  EXPECT_EQ(ns("1435781430.781"), 1'435'781'430'781'000'000);
  EXPECT_EQ(ns("1435781430781"), 1'435'781'430'781'000'000);
  EXPECT_EQ(ns("1435781430.000000001"), 1'435'781'430'000'000'001);
  EXPECT_EQ(ns("1.43578143e9"), 1'435'781'430'000'000'000);
  EXPECT_EQ(ns("1.435781430781e+12"), 1'435'781'430'781'000'000);
  EXPECT_EQ(ns("0"), 0);
}

TEST(Decimal, TimesOutOfRangeAreNone) {
  for (const char* text : {"", "-5", "9300000000", "9300000000000", "12345678901234567890", "1x", "NaN", "1e300"})
    EXPECT_EQ(parse_unix_time(text), std::nullopt) << text;
}

}  // namespace
}  // namespace stint
