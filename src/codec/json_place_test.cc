#include "codec/json_place.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(JsonPlace, NamesTheLineOnWhichAValueBegins) {
  constexpr std::string_view kText = R"(
{ "listen": "a, \"alerts\": {",
  "nodes": [{"alerts": [1, 2]}, "]"], "empty": {},
  "alerts": {"every": "1m",
    "rules": [
      {"name": "A", "nested": {"x": [1, {"y": "}"}]}}, {"name": "B"},

      {"name": "C"}
    ], "none": []
  } })";
  EXPECT_EQ(line_in_json(kText, {}), 2);
  EXPECT_EQ(line_in_json(kText, {"alerts"}), 4);
  EXPECT_EQ(line_in_json(kText, {"alerts", "rules"}), 5);
  EXPECT_EQ(line_in_json(kText, {"alerts", "rules"}, 0), 6);
  EXPECT_EQ(line_in_json(kText, {"alerts", "rules"}, 1), 6);
  EXPECT_EQ(line_in_json(kText, {"alerts", "rules"}, 2), 8);
  EXPECT_EQ(line_in_json(kText, {"alerts", "rules"}, 3), 5) << "there is none: its list";
  EXPECT_EQ(line_in_json(kText, {"alerts", "none"}, 0), 9);
  EXPECT_EQ(line_in_json(kText, {"missing"}), 2);
}

TEST(JsonPlace, TextsThatAreNoJsonDoNoHarm) {
  for (const char* text : {"", "{", "[", "{\"alerts\"", "{\"alerts\":", "{\"alerts\":[", "\"", "{\"\\", "{,,}"})
    EXPECT_EQ(line_in_json(text, {"alerts", "rules"}, 3), 1) << text;
}

}  // namespace
}  // namespace stint
