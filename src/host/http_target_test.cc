#include "host/http_target.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(HttpTarget, SegmentsAndParametersAreUnescaped) {
  const auto target = parse_http_target("/v1/a%20b/%2f?queue=team%2Fblue&name=x+y&empty=&flag&&queue=second");
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_THAT(target->segments, ElementsAre("v1", "a b", "/"));
  EXPECT_THAT(target->parameters, ElementsAre(Pair("queue", "team/blue"), Pair("name", "x y"), Pair("empty", ""),
                                              Pair("flag", ""), Pair("queue", "second")));
  EXPECT_EQ(*target->parameter("queue"), "team/blue");
  EXPECT_EQ(target->parameter("other"), nullptr);
}

TEST(HttpTarget, RootAndEmptySegments) {
  EXPECT_THAT(parse_http_target("/")->segments, IsEmpty());
  EXPECT_THAT(parse_http_target("/?a=1")->segments, IsEmpty());
  EXPECT_THAT(parse_http_target("/v1//x/")->segments, ElementsAre("v1", "", "x", ""));  // not the same as /v1/x
}

TEST(HttpTarget, WhatIsNoTargetIsRefused) {
  for (const char* bad :
       {"", "v1", "http://x/", "*", "/%", "/%2", "/%zz", "/%00", "/a%0d%0aSet-Cookie:x", "/?a=%1", "/?%0a=1", "/\x01"})
    EXPECT_FALSE(parse_http_target(bad).ok()) << bad;
  EXPECT_THAT(parse_http_target("/" + std::string(9000, 'a')).error().message, HasSubstr("8 KiB"));
  std::string many = "/?";
  std::string deep;
  for (int i = 0; i < 65; ++i) {
    many += "a=1&";
    deep += "/a";
  }
  EXPECT_FALSE(parse_http_target(many).ok());
  EXPECT_FALSE(parse_http_target(deep).ok());
}

}  // namespace
}  // namespace stint
