#include "host/time_zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace stint {
namespace {

Instant utc(const char* text) { return parse_instant(text).value(); }

TEST(TimeZone, FollowsTheTablesOfThisMachine) {
  const auto berlin = find_time_zone("Europe/Berlin");
  if (!berlin.ok()) GTEST_SKIP() << berlin.error().message << " (tzdata is not installed)";
  EXPECT_EQ(berlin->name(), "Europe/Berlin");
  // Summer time of the European Union: last Sundays of March and October, 01:00 UTC.
  EXPECT_EQ(berlin->instant_of(utc("2026-10-25T01:59:59Z")), utc("2026-10-24T23:59:59Z"));
  EXPECT_EQ(berlin->instant_of(utc("2026-10-25T03:00:00Z")), utc("2026-10-25T02:00:00Z"));
  EXPECT_EQ(berlin->instant_of(utc("2026-03-29T01:59:59Z")), utc("2026-03-29T00:59:59Z"));
  EXPECT_EQ(berlin->instant_of(utc("2026-03-29T03:00:00Z")), utc("2026-03-29T01:00:00Z"));
  // Half hours, and no summer time.
  EXPECT_EQ(find_time_zone("Asia/Kolkata")->instant_of(utc("2026-07-01T05:30:00Z")), utc("2026-07-01T00:00:00Z"));
}

TEST(TimeZone, WhatIsNoneIsRefusedAndTheProcessKeepsItsOwn) {
  ::setenv("TZ", "America/New_York", 1);
  for (const char* name : {"", "Mars/Olympus", "/etc/passwd", "../../etc/passwd", "Europe"})
    EXPECT_THAT(find_time_zone(name).error().message, testing::HasSubstr("no time zone that this machine knows")) << name;
  (void)find_time_zone("Europe/Berlin");
  EXPECT_STREQ(std::getenv("TZ"), "America/New_York");
  ::unsetenv("TZ");
}

}  // namespace
}  // namespace stint
