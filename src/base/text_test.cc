#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/units.h"

namespace stint {
namespace {

using testing::ElementsAre;

TEST(Text, SplitsAndTrims) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_EQ(trim(" \t x y\r\n"), "x y");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, NumbersAreTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("42"), 42);
  EXPECT_EQ(parse_int("-1"), -1);
  EXPECT_FALSE(parse_int("42 "));
  EXPECT_FALSE(parse_int("99999999999999999999"));
  EXPECT_DOUBLE_EQ(parse_number("1e3").value(), 1000);
  EXPECT_FALSE(parse_number("nan"));
  EXPECT_FALSE(parse_number("inf"));
  EXPECT_FALSE(parse_number("1.5x"));
  EXPECT_FALSE(parse_number(""));
}

TEST(Text, ComparesWithoutCase) {
  EXPECT_TRUE(equals_ignoring_case("NVIDIA", "nvidia"));
  EXPECT_FALSE(equals_ignoring_case("NVIDIA", "nvidi"));
  EXPECT_TRUE(contains_ignoring_case("team-Training-7", "training"));
  EXPECT_FALSE(contains_ignoring_case("abc", "abcd"));
  EXPECT_TRUE(contains_ignoring_case("abc", ""));
}

TEST(Text, ExcerptsCannotBreakALine) {
  EXPECT_EQ(excerpt("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(excerpt("abcdef", 3), "abc…");
}

TEST(Fnv1a, KnownValues) {
  // From the reference vectors of the FNV authors: "" and "a", "foobar".
  Fnv1a empty;
  EXPECT_EQ(empty.digest(), 0xcbf29ce484222325ULL);
  Fnv1a a;
  a.update("a");
  EXPECT_EQ(a.digest(), 0xaf63dc4c8601ec8cULL);
  Fnv1a foobar;
  foobar.update("foo");
  foobar.update("bar");
  EXPECT_EQ(foobar.digest(), 0x85944171f73967e8ULL);
}

TEST(Prng, TheSameSeedGivesTheKnownDraws) {
  // SplitMix64 from seed 1234567: the vector published with the reference code.
  Prng prng(1234567);
  EXPECT_EQ(prng.next(), 6457827717110365317ULL);
  EXPECT_EQ(prng.next(), 3203168211198807973ULL);
  EXPECT_EQ(prng.next(), 9817491932198370423ULL);
}

TEST(Prng, DrawsAreUniformEnough) {
  Prng prng(1);
  std::array<int, 10> buckets{};
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    ++buckets[prng.below(10)];
    const double z = prng.normal();
    sum += z, squares += z * z;
  }
  for (const int b : buckets)
    EXPECT_NEAR(b, 10000, 500);  // five standard deviations are 474
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.03);
}

TEST(GpuShare, EqualAsFractions) {
  EXPECT_EQ(GpuShare::of(1, 2), GpuShare::milli(500));
  EXPECT_LT(GpuShare::of(3, 7), GpuShare::of(1, 2));
  EXPECT_EQ(GpuShare::whole(), GpuShare::of(7, 7));
}

TEST(Bytes, Units) {
  EXPECT_EQ(Bytes::gibi(int64_t{80}).count(), 85899345920);
  EXPECT_EQ(Bytes::mebi(1024), Bytes::gibi(int64_t{1}));
  EXPECT_EQ(Bytes::gibi(79.6).count(), 85469849190);  // 79.6 × 2³⁰ = 85 469 849 190.4
}

}  // namespace
}  // namespace stint
