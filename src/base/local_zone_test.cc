#include "base/local_zone.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

Instant utc(const char* text) { return parse_instant(text).value(); }

/// The change of a year in Central Europe: at 01:00 UTC of 29 March and 25 October 2026.
LocalZone central_europe() {
  return {"Europe/Berlin",
          Duration::hours(1),
          {{utc("2026-03-29T01:00:00Z"), Duration::hours(2)}, {utc("2026-10-25T01:00:00Z"), Duration::hours(1)}}};
}

TEST(LocalZone, TimesFollowTheClockOfTheirSeason) {
  const LocalZone zone = central_europe();
  EXPECT_EQ(parse_instant("2026-01-15T12:00:00", zone).value(), utc("2026-01-15T11:00:00Z"));
  EXPECT_EQ(parse_instant("2026-07-15T12:00:00", zone).value(), utc("2026-07-15T10:00:00Z"));
  EXPECT_EQ(parse_instant("2026-10-25T01:30:00", zone).value(), utc("2026-10-24T23:30:00Z"));
  EXPECT_EQ(parse_instant("2026-10-25T03:30:00", zone).value(), utc("2026-10-25T02:30:00Z"));
  EXPECT_EQ(parse_instant("2026-07-15T12:00:00Z", zone).value(), utc("2026-07-15T12:00:00Z"));
  EXPECT_EQ(parse_instant("2026-07-15T12:00:00+05:00", zone).value(), utc("2026-07-15T07:00:00Z"));
  EXPECT_FALSE(parse_instant("noon", zone).ok());
}

TEST(LocalZone, ATimeThatIsShownTwiceIsTheFirstAndOneThatIsLeftOutGoesOn) {
  const LocalZone zone = central_europe();
  const Instant first = parse_instant("2026-10-25T02:30:00", zone).value();
  EXPECT_EQ(first, utc("2026-10-25T00:30:00Z"));
  EXPECT_EQ(zone.shown_again(first), utc("2026-10-25T01:30:00Z"));
  EXPECT_EQ(zone.shown_again(utc("2026-10-25T01:30:00Z")), std::nullopt);
  EXPECT_EQ(zone.shown_again(utc("2026-10-24T22:59:59Z")), std::nullopt);
  EXPECT_EQ(zone.shown_again(utc("2026-03-29T00:30:00Z")), std::nullopt);
  EXPECT_EQ(parse_instant("2026-03-29T02:30:00", zone).value(), utc("2026-03-29T01:30:00Z"));
}

TEST(LocalZone, OneOffsetIsThatOffset) {
  EXPECT_EQ(parse_instant("2026-07-15T12:00:00", LocalZone(Duration::hours(2))).value(), utc("2026-07-15T10:00:00Z"));
  EXPECT_EQ(LocalZone(Duration::hours(2)).name(), "7200");
  EXPECT_EQ(LocalZone().name(), "0");
}

}  // namespace
}  // namespace stint
