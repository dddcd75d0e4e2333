#include "base/utf8.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(Utf8, KnowsWhatIsTextAndWhatIsNot) {
  for (const char* text : {"", "p4d.24xlarge", "caf\u00e9", "\u8bad\u7ec3", "\U0001F680"})
    EXPECT_TRUE(is_utf8(text)) << text;
  // A stray byte, cut short, overlong, a surrogate, beyond U+10FFFF.
  for (const char* text : {"\x80", "\xd2\xcd\xcb", "caf\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_FALSE(is_utf8(text));
}

}  // namespace
}  // namespace stint
