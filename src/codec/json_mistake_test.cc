#include "codec/json_mistake.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::StartsWith;

TEST(JsonMistake, HasItsLineAndColumn) {
  EXPECT_EQ(json_mistake("{\n  \"queues\": [1, 2]\n  \"nodes\": []\n}"),
            "line 3, column 9: unexpected string literal; expected '}'");
  EXPECT_THAT(json_mistake("{\"a\": 1,\n}"), StartsWith("line 2, column 1: unexpected '}'"));
  EXPECT_THAT(json_mistake("{\"a\": tru }"), StartsWith("line 1, column 10: invalid literal"));
  EXPECT_THAT(json_mistake(""), StartsWith("line 1, column 1: "));
  EXPECT_THAT(json_mistake("{\"a\": [1, 2"), StartsWith("line 1, column 12: unexpected end of input"));
}

TEST(JsonMistake, NothingIsWrongWithJson) {
  EXPECT_EQ(json_mistake(R"({"a": [1, 2.5, "x", null, true]})"), "");
  EXPECT_EQ(json_mistake_or("[]", "too deep"), "too deep");
  EXPECT_EQ(json_mistake(std::string(100'000, '[') + std::string(100'000, ']')), "") << "however deep";
}

}  // namespace
}  // namespace stint
