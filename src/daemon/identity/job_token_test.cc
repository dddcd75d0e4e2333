#include "daemon/identity/job_token.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(JobToken, IsOfOneLaunchAndOneDaemon) {
  const LaunchKey launch{.job = 17, .attempt = 1, .task = 3};
  const std::string token = job_token("key", launch);
  EXPECT_EQ(token.size(), std::string("stint-job_17.1.3_").size() + 64);
  EXPECT_EQ(launch_of_token("key", token), launch);
  EXPECT_EQ(launch_of_token("other", token), std::nullopt);
  EXPECT_EQ(launch_of_token("", token), std::nullopt);
  for (const char* name :
       {"stint-job_17.1.2_", "stint-job_18.1.3_", "stint-job_17.1.3", "stint-job_017.1.3_", "stint-job__", "stint_"})
    EXPECT_EQ(launch_of_token("key", name + token.substr(token.size() - 64)), std::nullopt) << name;
  EXPECT_EQ(launch_of_token("key", token.substr(0, token.size() - 1)), std::nullopt);
  EXPECT_EQ(launch_of_token("key", "stint-job_"), std::nullopt);
}

}  // namespace
}  // namespace stint
