#include "report/utf8.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(Printable, ReplacesWhatMovesTheCursorOrTurnsTheReadingDirection) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\uFFFD[31mb");
  EXPECT_EQ(printable("a\u202Eb\u2066c"), "a\uFFFDb\uFFFDc");
  EXPECT_EQ(printable("a\tb\nc\r"), "a b c ");
  EXPECT_EQ(printable_lines("a\tb\r\nc"), "a\tb\nc");
}

TEST(Printable, ReplacesInvalidUtf8AndKeepsTheRest) {
  EXPECT_EQ(printable("Bl\xC3\xA5"), "Blå");
  EXPECT_EQ(printable("\xFF"
                      "a\xC3"),
            "\uFFFDa\uFFFD");
  EXPECT_EQ(printable("\xC0\xAF"), "\uFFFD\uFFFD") << "an overlong slash";
  EXPECT_EQ(printable("\xED\xA0\x80"
                      "x"),
            "\uFFFDx")
      << "a surrogate";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\uFFFD") << "beyond U+10FFFF";
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("Blåbær"), 6U);
  EXPECT_EQ(display_width("東京"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
}

TEST(CutToWidth, NeverExceedsTheWidthAndNeverCutsACharacter) {
  EXPECT_EQ(cut_to_width("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to_width("abcd", 4), "abcd");
  EXPECT_EQ(cut_to_width("東京都", 4), "東…");
  EXPECT_EQ(cut_to_width("abc", 0), "abc");
}

}  // namespace
}  // namespace stint
