#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace stint {
namespace {

TEST(EditDistance, CountsLettersAddedLeftOutChangedAndExchanged) {
  EXPECT_EQ(edit_distance("audit", "audit"), 0U);
  EXPECT_EQ(edit_distance("aduit", "audit"), 1U) << "neighbours exchanged";
  EXPECT_EQ(edit_distance("--histroy", "--history"), 1U);
  EXPECT_EQ(edit_distance("bil", "bill"), 1U);
  EXPECT_EQ(edit_distance("qeueu", "queue"), 2U);
  EXPECT_EQ(edit_distance("", "top"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(NearestName, OneThatWasProbablyMeantOrNone) {
  const std::vector<std::string> names = {"audit", "bill", "queue", "top", "why"};
  EXPECT_EQ(nearest_name("aduit", names), "audit");
  EXPECT_EQ(nearest_name("tpo", names), "top");
  EXPECT_EQ(nearest_name("frobnicate", names), "");
  EXPECT_EQ(nearest_name("x", names), "") << "as far from it as it is long";
  EXPECT_EQ(nearest_name("", names), "");
}

TEST(NearestName, WhatExistsIsListedButNotWithoutEnd) {
  EXPECT_EQ(what_exists("A100", std::vector<std::string>{"A100-80GB", "H100-80GB"}), "; there is A100-80GB, H100-80GB");
  EXPECT_EQ(what_exists("stpo", std::vector<std::string>{"stop", "sell"}), "; did you mean 'stop'? There is stop, sell");
  EXPECT_EQ(what_exists("x", {}), "; there is none");
  std::vector<std::string> many;
  for (int i = 0; i < 30; ++i)
    many.push_back("job-" + std::to_string(i));
  EXPECT_TRUE(what_exists("nothing like it", many).ends_with("job-11 and 18 more"));
}

}  // namespace
}  // namespace stint
