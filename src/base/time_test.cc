#include "base/time.h"

#include <gtest/gtest.h>

#include <ctime>

#include "base/prng.h"

namespace stint {
namespace {

Instant at(std::string_view text) { return parse_instant(text).value(); }

TEST(Time, ReadsTheFormsSourcesUse) {
  const Instant expected = Instant::from_seconds(1726696800);  // date -u -d '2024-09-18 22:00:00' +%s
  EXPECT_EQ(at("2024-09-18T22:00:00Z"), expected);
  EXPECT_EQ(at("2024-09-18 22:00:00"), expected);
  EXPECT_EQ(at("2024/09/18 22:00:00"), expected);
  EXPECT_EQ(at("2024-09-19T00:00:00+02:00"), expected);
  EXPECT_EQ(at("2024-09-18T16:30:00-0530"), expected);
  EXPECT_EQ(at("2024-09-18T22:00"), expected);
  EXPECT_EQ(at("2020/11/12 13:48:11.412").ns() % 1'000'000'000, 412'000'000);
  EXPECT_EQ(at("2024-09-18"), Instant::from_seconds(1726617600));
}

TEST(Time, AZonelessTimeIsTakenAtTheOffsetGiven) {
  const ZonelessOffset berlin{Duration::hours(2)};
  EXPECT_EQ(parse_instant("2024-09-19 00:00:00", berlin).value(), at("2024-09-18T22:00:00Z"));
  EXPECT_EQ(parse_instant("2024-09-18T22:00:00Z", berlin).value(), at("2024-09-18T22:00:00Z"));
}

TEST(Time, RefusesWhatIsNoTime) {
  for (const char* text : {"", "2024", "2024-13-01", "2024-02-30", "2023-02-29", "2024-09-18T25:00:00", "2024-09-18T22:61",
                           "18.09.2024", "2024-09-18T22:00:00+99:00", "2024-09-18T22:00:00 local", "2024-09/18", "0001-01-01",
                           "1969-12-31", "2200-01-01", "9999-01-01", "Unknown"})
    EXPECT_FALSE(parse_instant(text).ok()) << text;
}

TEST(Time, CivilAgreesWithTheCLibrary) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  Prng prng(seed);
  for (int i = 0; i < 20000; ++i) {
    const auto seconds = static_cast<int64_t>(prng.below(12'000'000'000)) - 6'000'000'000;
    const auto c_time = static_cast<std::time_t>(seconds);
    std::tm tm{};
    ASSERT_NE(gmtime_r(&c_time, &tm), nullptr);
    const CivilTime c = to_civil(Instant::from_seconds(seconds));
    ASSERT_EQ(c.year, tm.tm_year + 1900);
    ASSERT_EQ(c.month, tm.tm_mon + 1);
    ASSERT_EQ(c.day, tm.tm_mday);
    ASSERT_EQ(c.hour, tm.tm_hour);
    ASSERT_EQ(c.minute, tm.tm_min);
    ASSERT_EQ(c.second, tm.tm_sec);
    ASSERT_EQ(weekday(Instant::from_seconds(seconds)), (tm.tm_wday + 6) % 7);
    ASSERT_EQ(from_civil(c), Instant::from_seconds(seconds));
    if (seconds >= 0) {
      ASSERT_EQ(parse_instant(format_utc(Instant::from_seconds(seconds))).value(), Instant::from_seconds(seconds));
    }
  }
}

TEST(Time, HoursRoundTowardsThePast) {
  EXPECT_EQ(Instant::from_seconds(-1).hour_index(), -1);
  EXPECT_EQ(Instant::from_seconds(3599).hour_index(), 0);
  EXPECT_EQ(Instant::from_seconds(7201).hour_start(), Instant::from_seconds(7200));
}

TEST(Time, AMonthIsACalendarMonth) {
  const Interval october = parse_month("2026-10").value();
  EXPECT_EQ(october.length(), Duration::hours(744));
  EXPECT_EQ(parse_month("2024-02").value().length(), Duration::hours(29 * 24));
  EXPECT_EQ(format_date(parse_month("2026-12").value().end), "2027-01-01");
  for (const char* text : {"2026-13", "2026-00", "2026", "10-2026", "2026-1", "2026-10-01"})
    EXPECT_FALSE(parse_month(text).ok()) << text;
}

TEST(Time, Durations) {
  EXPECT_EQ(parse_duration("90s").value(), Duration::seconds(90));
  EXPECT_EQ(parse_duration("1h30m").value(), Duration::minutes(90));
  EXPECT_EQ(parse_duration("7d").value(), Duration::hours(168));
  EXPECT_EQ(parse_duration("50ms").value(), Duration::milliseconds(50));
  // Each part fits, their sum does not: int64 nanoseconds end at 292 years.
  EXPECT_FALSE(parse_duration("100000d6000d5000d").ok());
  EXPECT_FALSE(parse_duration("64485d50505d").ok());
  for (const char* text : {"", "5", "h", "-5s", "5 parsecs", "99999999999s", "1h "})
    EXPECT_EQ(parse_duration(text).ok(), std::string_view(text) == "1h ") << text;
}

TEST(Time, IntersectionOfDisjointIntervalsIsEmpty) {
  const Interval a{Instant::from_seconds(0), Instant::from_seconds(10)};
  const Interval b{Instant::from_seconds(20), Instant::from_seconds(30)};
  EXPECT_TRUE(intersect(a, b).empty());
  EXPECT_EQ(intersect(a, {Instant::from_seconds(5), Instant::from_seconds(50)}).length(), Duration::seconds(5));
}

}  // namespace
}  // namespace stint
