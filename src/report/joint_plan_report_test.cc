#include "report/joint_plan_view.h"

#include <gmock/gmock.h>

#include "report/plan_front.h"
#include "report/testing_report.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JointPlan sample() {
  JointPlan plan;
  plan.report = testing::agency_report();
  for (size_t i = 0; i < plan.report.findings.size(); ++i)
    plan.report.findings[i].step = static_cast<int>(i) + 1;
  plan.as_is_completion_s = 7.4 * 3600;
  plan.as_is_waiting_s = 6;
  plan.front = {{Money::units(21'636), 8.0 * 3600, 43, {}, true}, {Money::units(23'000), 7.7 * 3600, 37, {"F-00000001"}, false}};
  plan.gains = {"without \"Stop\" (F-1) the others save 10.00 USD a month more together"};
  return plan;
}

TEST(JointPlanReport, TheFrontHasAPointAPlanAndOneForTheFleetAsItIs) {
  const std::string svg = plan_front_chart(sample()).str();
  size_t circles = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, 3U);
  EXPECT_THAT(svg, HasSubstr("without F-00000001"));
  EXPECT_THAT(svg, HasSubstr("leaves nothing out (chosen)"));
  EXPECT_THAT(svg, HasSubstr("as it is: 47,000"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_TRUE(plan_front_chart(JointPlan()).empty());
}

TEST(JointPlanReport, AFrontOfOnePointIsDrawnToo) {
  JointPlan plan = sample();
  plan.front.resize(1);
  plan.front[0].completion_mean_s = plan.as_is_completion_s;
  plan.front[0].plan_per_month = plan.report.totals.bill_per_month;
  const std::string svg = plan_front_chart(plan).str();
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(JointPlanReport, ThePageHoldsStepsFrontGoalsAndWhatWasLeftOut) {
  const std::string page = joint_plan_html(sample());
  for (const char* part : {"From 47,000 to", "id=\"plan\"", "id=\"front\"", "id=\"goals\"", "training-throughput&gt;=140%",
                           "F-00000004", "Left out for the sake of the rest"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(JointPlanReport, GoalsAreInTextAndJson) {
  EXPECT_THAT(joint_plan_text(sample(), Colour::kNo), HasSubstr("cost<=18000: 3,636.00 USD a month too much"));
  EXPECT_THAT(joint_plan_json(sample()), HasSubstr("\"outcome\": \"not shown\""));
}

TEST(JointPlanReport, SaysWhatCommitmentsOnFewDaysWouldAdd) {
  const std::string aside = "a month off this plan, to 20,636.00 USD";
  EXPECT_THAT(joint_plan_text(sample(), Colour::kNo),
              HasSubstr("Not counted, of high risk: commitments that rest on 31 days of use"));
  EXPECT_THAT(joint_plan_html(sample()), HasSubstr(aside));
  EXPECT_THAT(joint_plan_json(sample()), HasSubstr("\"commitments_aside\": {\n    \"days\": 31"));
  JointPlan enough = sample();
  enough.report.commitments_aside.reset();
  EXPECT_THAT(joint_plan_text(enough, Colour::kNo), Not(HasSubstr("rest on")));
  EXPECT_THAT(joint_plan_json(enough), HasSubstr("\"commitments_aside\": null"));
}

JointPlan with_bound() {
  JointPlan plan = sample();
  const Money cost = plan.report.totals.plan_per_month;
  plan.report.bound =
      PlanBound{.per_month = cost - Money::units(636),
                .gap = Money::units(636),
                .reasons = {{"serving: room on shared GPUs", Money::units(600)}, {"training: the least price", Money::units(36)}},
                .holds = true};
  return plan;
}

TEST(JointPlanReport, SaysWhatNoPlanCanBeat) {
  const std::string text = joint_plan_text(with_bound(), Colour::kNo);
  EXPECT_THAT(text, HasSubstr("costs less than 21,000.00 USD a month: this one is 636.00 USD above, 2.9 % of it"));
  EXPECT_THAT(text, HasSubstr("serving: room on shared GPUs"));
  const std::string json = joint_plan_json(with_bound());
  EXPECT_THAT(json, HasSubstr("\"bound_per_month\": 21000.0"));
  EXPECT_THAT(json, HasSubstr("\"gap_per_month\": 636.0"));
  const std::string page = joint_plan_html(with_bound());
  EXPECT_THAT(page, HasSubstr("From the plan to what no plan can beat"));
  EXPECT_THAT(page, HasSubstr("No plan costs less"));
  EXPECT_THAT(page, HasSubstr("<h3>From the plan to what no plan can beat</h3>"));
}

TEST(JointPlanReport, WithoutABoundThereIsNone) {
  EXPECT_THAT(joint_plan_json(sample()), HasSubstr("\"bound_per_month\": null"));
  EXPECT_THAT(joint_plan_text(sample(), Colour::kNo), Not(HasSubstr("costs less than")));
  JointPlan beaten = with_bound();
  beaten.report.bound->holds = false;
  beaten.report.bound->gap = Money::units(-5);
  EXPECT_THAT(joint_plan_text(beaten, Colour::kNo), HasSubstr("no bound: this plan is 5.00 USD a month cheaper"));
  EXPECT_THAT(joint_plan_json(beaten), HasSubstr("\"bound_per_month\": null"));
  EXPECT_THAT(joint_plan_html(beaten), Not(HasSubstr("No plan costs less")));
}

}  // namespace
}  // namespace stint
