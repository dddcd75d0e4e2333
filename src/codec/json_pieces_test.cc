#include "codec/json_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Taken {
  std::vector<std::string> values;
  Status status;
};

/// What lies below `skus` and `terms.*` one by one, and `day`, with the text fed `piece` bytes at a time.
Taken taken(std::string_view text, size_t piece) {
  Taken out;
  JsonPieces pieces(
      "file.json",
      [](const JsonPieces::Path& path) {
        if (path.empty() || (path.size() == 1 && (path[0] == "skus" || path[0] == "terms"))) return JsonPieces::Plan::kEnter;
        return path.size() == 2 || path[0] == "day" ? JsonPieces::Plan::kTake : JsonPieces::Plan::kSkip;
      },
      [&](const JsonPieces::Path& path, std::string_view json) {
        std::string value;
        for (const std::string& key : path)
          value += key + "/";
        out.values.push_back(value + std::string(json));
        return Status();
      });
  for (size_t at = 0; at < text.size() && out.status.ok(); at += piece)
    out.status = pieces.feed(text.substr(at, piece));
  if (out.status.ok()) out.status = pieces.finish();
  return out;
}

TEST(JsonPieces, GivesWhatIsTakenWhereverTheBytesAreCut) {
  constexpr std::string_view kText =
      R"( {"day": "a\"}b", "left": {"skus": [1, {"x": "]"}]}, "skus": [ {"a": [1, 2]} , 7,"t", []], "terms":{"A":{"b":{}},"B":-1.5e3}, "none": {}}
          {"skus": [], "day": 3})";
  for (size_t piece = 1; piece <= kText.size(); ++piece) {
    const Taken t = taken(kText, piece);
    ASSERT_TRUE(t.status.ok()) << piece << t.status.error().message;
    ASSERT_THAT(t.values, ElementsAre(R"(day/"a\"}b")", R"(skus//{"a": [1, 2]})", "skus//7", R"(skus//"t")", "skus//[]",
                                      R"(terms/A/{"b":{}})", "terms/B/-1.5e3", "day/3"))
        << piece;
  }
}

TEST(JsonPieces, WhatIsCutShortOrNoJsonIsAnError) {
  constexpr std::string_view kWhole = R"({"skus": [{"a": 1}, 2], "day": 4})";
  for (size_t length = 1; length < kWhole.size(); ++length)
    EXPECT_THAT(taken(kWhole.substr(0, length), 5).status.error().message, HasSubstr("cut short")) << length;
  for (const char* text :
       {R"({"skus" 1})", R"({"skus": [1 2]})", R"({"skus": [,]})", R"({1: 2})", R"({"day": 1,})", R"({"skus": ]})", "]"})
    EXPECT_THAT(taken(text, 3).status.error().message, HasSubstr("file.json: not JSON")) << text;
  EXPECT_TRUE(taken("", 1).status.ok());
  EXPECT_THAT(taken("[{}, 1]", 2).values, IsEmpty());
}

TEST(JsonPieces, ADocumentLargerThanAnyValueMayBeIsRead) {
  size_t count = 0;
  JsonPieces pieces(
      "file.json",
      [](const JsonPieces::Path& path) { return path.size() < 2 ? JsonPieces::Plan::kEnter : JsonPieces::Plan::kTake; },
      [&](const JsonPieces::Path&, std::string_view) { return ++count, Status(); });
  const std::string element = "\"" + std::string((1 << 20) - 3, 'x') + "\",";
  ASSERT_TRUE(pieces.feed("{\"skus\":[").ok());
  for (int i = 0; i < 80; ++i)
    ASSERT_TRUE(pieces.feed(element).ok());
  ASSERT_TRUE(pieces.feed("0]}").ok());
  EXPECT_TRUE(pieces.finish().ok());
  EXPECT_EQ(count, 81U);
}

}  // namespace
}  // namespace stint
