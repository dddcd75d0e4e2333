#include "sim/explore.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stint::sim {
namespace {

TEST(Explore, AHundredHoursWithoutAViolationAndTheSameAgain) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Scenario scenario = make_scenario(seed, Duration::hours(24));
    const Exploration first = explore(scenario);
    EXPECT_FALSE(first.violation.has_value())
        << "seed " << seed << ": " << first.violation->rule << ": " << first.violation->what;
    EXPECT_EQ(first.fingerprint, explore(make_scenario(seed, Duration::hours(24))).fingerprint) << "seed " << seed;
  }
}

TEST(Explore, ShrinksToWhatMatters) {
  const Scenario scenario = make_scenario(3, Duration::hours(24));
  ASSERT_GT(scenario.workload.jobs.size(), 5u);
  // "Fails" when the job of this name is there, on any node.
  const std::string culprit = scenario.workload.jobs[scenario.workload.jobs.size() / 2].name;
  const Scenario small = shrink(
      scenario,
      [&](const Scenario& s) {
        return std::ranges::any_of(s.workload.jobs, [&](const SimJob& job) { return job.name == culprit; });
      },
      2'000);
  ASSERT_EQ(small.workload.jobs.size(), 1u);
  EXPECT_EQ(small.workload.jobs[0].name, culprit);
  EXPECT_EQ(small.workload.nodes.size(), 1u);
  EXPECT_TRUE(small.workload.outages.empty());
  EXPECT_LE(small.workload.jobs[0].run_time, Duration::minutes(1));
  EXPECT_NE(scenario_json(small).find("\"jobs\": ["), std::string::npos);
}

}  // namespace
}  // namespace stint::sim
