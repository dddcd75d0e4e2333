#include "daemon/cluster_rest.h"

#include <gtest/gtest.h>

#include <vector>

namespace stint {
namespace {

TEST(ClusterRest, TellsOnceAndAsksAgainForWhatWasRefused) {
  std::vector<std::set<std::string>> asked;
  bool away = false;
  ClusterRest rest("slurm", [&](const std::set<std::string>& resting) -> Status {
    asked.push_back(resting);
    if (away) return make_error(ErrorCode::kUnavailable, "no answer");
    return {};
  });
  rest.rest({});
  EXPECT_EQ(asked.size(), 1U) << "a start does not know what the cluster has";
  rest.rest({});
  rest.rest({"n1"});
  rest.rest({"n1"});
  EXPECT_EQ(asked.size(), 2U);
  away = true;
  rest.rest({});
  EXPECT_EQ(rest.problem(), "no answer");
  rest.rest({});
  EXPECT_EQ(asked.size(), 4U);
  away = false;
  rest.rest({});
  EXPECT_EQ(rest.problem(), "");
  rest.rest({});
  EXPECT_EQ(asked.size(), 5U);
}

}  // namespace
}  // namespace stint
