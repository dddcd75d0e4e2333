#include "codec/bills/opencost_window.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

std::string window_text(std::string_view text, std::string_view now = "2026-10-14T09:41:30Z") {  // a Wednesday
  const auto window = parse_opencost_window(text, *parse_instant(now));
  return window.ok() ? format_utc(window->begin) + " " + format_utc(window->end) : window.error().message;
}

TEST(OpencostWindow, NamesAreOfTheCalendarInUtc) {
  EXPECT_EQ(window_text("today"), "2026-10-14T00:00:00Z 2026-10-15T00:00:00Z");
  EXPECT_EQ(window_text("yesterday"), "2026-10-13T00:00:00Z 2026-10-14T00:00:00Z");
  EXPECT_EQ(window_text("week"), "2026-10-11T00:00:00Z 2026-10-14T09:41:30Z") << "weeks begin on Sunday";
  EXPECT_EQ(window_text("lastweek"), "2026-10-04T00:00:00Z 2026-10-11T00:00:00Z");
  EXPECT_EQ(window_text("week", "2026-10-11T01:00:00Z"), "2026-10-11T00:00:00Z 2026-10-11T01:00:00Z");
  EXPECT_EQ(window_text("month"), "2026-10-01T00:00:00Z 2026-10-14T09:41:30Z");
  EXPECT_EQ(window_text("lastmonth", "2026-01-31T12:00:00Z"), "2025-12-01T00:00:00Z 2026-01-01T00:00:00Z");
}

TEST(OpencostWindow, ADurationReachesBackFromTheEndOfItsUnit) {
  EXPECT_EQ(window_text("7d"), "2026-10-08T00:00:00Z 2026-10-15T00:00:00Z");
  EXPECT_EQ(window_text("12h"), "2026-10-13T22:00:00Z 2026-10-14T10:00:00Z");
  EXPECT_EQ(window_text("30m"), "2026-10-14T09:12:00Z 2026-10-14T09:42:00Z");
  EXPECT_EQ(window_text("2w"), "2026-10-01T00:00:00Z 2026-10-15T00:00:00Z");
}

TEST(OpencostWindow, PairsOfInstants) {
  EXPECT_EQ(window_text("2026-10-01T00:00:00Z,2026-10-03T12:00:00Z"), "2026-10-01T00:00:00Z 2026-10-03T12:00:00Z");
  EXPECT_EQ(window_text("1586822400,1586908800"), "2020-04-14T00:00:00Z 2020-04-15T00:00:00Z");
}

TEST(OpencostWindow, AnythingElseIsRefusedWithWhatThereIs) {
  for (const char* text :
       {"", "d", "0d", "-1d", "7y", "99999999999999999999d", "4000d", "600w", "tomorrow", "2026-10-03,2026-10-01", "1586822400",
        "1,", ",", "1,2,3", "1970-01-01,2100-01-01", "9999999999999,99999999999999"})
    EXPECT_THAT(window_text(text), ::testing::HasSubstr("give today")) << text;
  EXPECT_THAT(window_text("month", "2026-10-01T00:00:00Z"), ::testing::HasSubstr("give today"));
}

}  // namespace
}  // namespace stint
