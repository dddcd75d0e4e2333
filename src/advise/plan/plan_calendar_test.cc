#include "advise/plan/plan_calendar.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::ElementsAre;

Finding step_of(int step, Level effort, std::vector<std::string> nodes, const char* saving) {
  Finding finding;
  finding.id = fmt::format("F-{}", step);
  finding.title = "stop";
  finding.change = StopNodes{std::move(nodes)};
  finding.step = step;
  finding.effort = effort;
  finding.saving_per_month = usd(saving);
  return finding;
}

// Friday 2026-06-05: half a day that day, two days from Monday, eight from Wednesday to the Friday of the week after.
TEST(PlanCalendar, StepsFollowEachOtherOnWorkingDays) {
  AuditReport plan;
  for (const auto& [name, client] : {std::pair("a", "acme"), {"b", "zoo"}, {"c", ""}}) {
    plan.nodes.emplace_back();
    plan.nodes.back().name = name;
    plan.nodes.back().client = client;
  }
  plan.findings = {step_of(2, Level::kMedium, {"a", "b"}, "100"), step_of(1, Level::kLow, {"c"}, "730"),
                   step_of(3, Level::kHigh, {"b"}, "0")};
  const Instant friday = from_civil({.year = 2026, .month = 6, .day = 5});
  const auto calendar = plan_calendar(plan, friday, usd("600"));
  ASSERT_EQ(calendar.size(), 3U);
  EXPECT_EQ(calendar[0].finding, "F-1");
  EXPECT_THAT(calendar[0].owners, ElementsAre("not attributed"));
  EXPECT_EQ(calendar[0].begin, friday);
  EXPECT_EQ(calendar[0].end, friday);
  EXPECT_EQ(calendar[0].one_off, usd("300"));
  EXPECT_NEAR(*calendar[0].payback_days, 300 / 24.0, 1e-9) << "730 a month are 24 a day";
  EXPECT_THAT(calendar[1].owners, ElementsAre("acme", "zoo"));
  EXPECT_EQ(calendar[1].begin, from_civil({.year = 2026, .month = 6, .day = 8}));
  EXPECT_EQ(calendar[1].end, from_civil({.year = 2026, .month = 6, .day = 9}));
  EXPECT_EQ(calendar[2].begin, from_civil({.year = 2026, .month = 6, .day = 10}));
  EXPECT_EQ(calendar[2].end, from_civil({.year = 2026, .month = 6, .day = 19}));
  EXPECT_FALSE(calendar[2].payback_days) << "it saves nothing";
  EXPECT_FALSE(plan_calendar(plan, friday, std::nullopt)[0].one_off);
  EXPECT_EQ(plan_calendar(plan, friday + Duration::hours(24), std::nullopt)[0].begin,
            from_civil({.year = 2026, .month = 6, .day = 8}));
}

}  // namespace
}  // namespace stint
