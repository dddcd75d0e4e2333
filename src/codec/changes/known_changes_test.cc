#include "codec/changes/known_changes.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

Instant at(std::string_view text) { return parse_instant(text).value(); }
const Interval kWinter = {at("2026-11-01"), at("2027-02-01")};

TEST(KnownChanges, AFileIsLinesWithNotes) {
  const auto all =
      parse_known_changes("plan.txt", "# ours\n\n2026-12-01:+8   # new client\n2026-12-24..2027-01-02:x0.3\n", kWinter);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].plus, 8);
  EXPECT_EQ((*all)[0].note, "new client");
  EXPECT_EQ((*all)[1].factor, 0.3);
}

TEST(KnownChanges, RecurringOnesAreOneForEachTime) {
  const auto all = expand_known_change("2026-11-07 every 14d for 36h:+16", kWinter);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 7U);  // 7 and 21 November, 5 and 19 December, 2, 16 and 30 January
  EXPECT_EQ(all->front().from, at("2026-11-07"));
  EXPECT_EQ(*all->front().until, at("2026-11-08T12:00:00"));
  EXPECT_EQ(all->back().from, at("2027-01-30"));
  EXPECT_EQ(all->back().plus, 16);
}

TEST(KnownChanges, WhatBeganBeforeGoesOnAndWhatEndsEnds) {
  const auto all = expand_known_change("2026-10-31..2026-11-14 every 7d for 48h:x2", kWinter);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].from, at("2026-11-01"));  // the second day of the first
  EXPECT_EQ(*(*all)[0].until, at("2026-11-02"));
  EXPECT_EQ((*all)[1].from, at("2026-11-07"));
}

TEST(KnownChanges, ErrorsNameTheLine) {
  for (const char* bad : {"soon:+8", "2026-12-01 every 7d:+8", "2026-12-01 every 7d for 8d:+8", "2026-12-01 every 0h for 0h:+1",
                          "2026-11-01 every 1m for 1m:+1", "2026-12-01 every x for 1h:+1"}) {
    const auto all = parse_known_changes("plan.txt", std::string("\n") + bad, kWinter);
    ASSERT_FALSE(all.ok()) << bad;
    EXPECT_TRUE(all.error().message.starts_with("plan.txt:2: ")) << all.error().message;
  }
}

}  // namespace
}  // namespace stint
