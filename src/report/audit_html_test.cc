#include "report/audit_html.h"

#include <gmock/gmock.h>

#include "report/audit_charts.h"
#include "report/testing_report.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

TEST(AuditHtml, HasASectionForEverythingInTheReport) {
  const std::string page = audit_html(testing::agency_report());
  for (const char* id : {"plan", "findings", "clients", "idle", "fleet", "curve", "instances", "holders", "limits", "sources"})
    EXPECT_THAT(page, HasSubstr(fmt::format("<section id=\"{}\">", id)));
  for (const char* words :
       {"From 47,000 to 21,636 USD a month", "goal: 70 %", "Blåbær &amp; Söhne", "bill-2026-10.csv", "scontrol update"})
    EXPECT_THAT(page, HasSubstr(words));
}

TEST(AuditHtml, UnusualDaysAndOldPricesAreShownWhereThereAreAny) {
  const std::string page = audit_html(testing::agency_report());
  EXPECT_THAT(page, HasSubstr("<td>2026-10-30 to 2026-10-31</td><td class=\"r\">900.00</td><td class=\"r\">300.00</td>"
                              "<td class=\"r\">+600.00</td><td class=\"r\">+6.2</td>"));
  EXPECT_THAT(page, HasSubstr("Of 12 daily series, by client and service, 11 had"));
  EXPECT_THAT(page, HasSubstr("Doubtful prices"));
  EXPECT_THAT(page, HasSubstr("<td>2025-01-01</td>"));
  AuditReport usual = testing::agency_report();
  usual.anomalies->anomalies.clear();
  usual.prices.clear();
  EXPECT_THAT(audit_html(usual), Not(HasSubstr("Unusual days")));
  EXPECT_THAT(audit_html(usual), Not(HasSubstr("Doubtful prices")));
}

TEST(AuditHtml, WhatIsLessSureIsHatchedAndTheWayToAGoalIsDrawn) {
  const std::string page = audit_html(testing::agency_report());
  EXPECT_LT(page.find("Is the data complete?"), page.find("From the bill to the plan"));
  EXPECT_EQ(occurrences(page, "class=\"saving stripes\""), 4U);  // all but the one that was billed again
  EXPECT_EQ(occurrences(page, "class=\"gap stripes\""), 2U);
  for (const char* words :
       {"11,639 rests on an estimated or old price", "Removed by: jobs that may end later", "20,000 to 25,000"})
    EXPECT_THAT(page, HasSubstr(words));
}

TEST(AuditHtml, ContentsAndWaterfallLeadToWhatIsThere) {
  const std::string page = audit_html(testing::agency_report());
  for (const char* id : {"plan", "findings", "clients", "sources", "F-00000001"}) {
    EXPECT_THAT(page, HasSubstr(fmt::format("<a href=\"#{}\">", id)));
    EXPECT_EQ(occurrences(page, fmt::format(" id=\"{}\"", id)), 1U);
  }
}

TEST(AuditHtml, WhatWasNotAdvisedIsListedOnce) {
  AuditReport report = testing::agency_report();
  report.out_of_reach = {report.rejected[0].title + " (would be worth 5.00 USD/month): too far", "7.00 USD/month of storage"};
  const std::string page = audit_html(report);
  EXPECT_THAT(page, Not(HasSubstr("would be worth 5.00 USD/month")));
  EXPECT_THAT(page, HasSubstr("7.00 USD/month of storage"));
  EXPECT_EQ(occurrences(page, report.rejected[0].title), 1U);
}

TEST(AuditHtml, WhatWasNotMeasuredIsNotZero) {
  AuditReport report = testing::empty_report();
  report.holders = {{.name = "memory-only",
                     .client = "",
                     .gpu_hours = 0,
                     .mean_utilization_pct = {},
                     .idle_pct = {},
                     .memory_mean = Bytes::gibi(int64_t{1}),
                     .coverage_pct = 0}};
  report.nodes.emplace_back().name = "dark";
  const std::string page = audit_html(report);
  EXPECT_THAT(page, HasSubstr("memory-only"));
  EXPECT_THAT(page, Not(HasSubstr(">0 %<")));
  EXPECT_THAT(page, Not(HasSubstr(">0.0 %</td>")));
}

TEST(AuditHtml, AnEmptyReportIsAPageWithoutEmptySections) {
  const std::string page = audit_html(testing::empty_report());
  EXPECT_EQ(occurrences(page, "<section"), 1U);
  EXPECT_THAT(page, HasSubstr("Nothing found"));
  EXPECT_THAT(page, HasSubstr("No telemetry says"));
}

TEST(AuditHtml, HostileNamesAreShownNotRun) {
  const std::string page = audit_html(testing::hostile_report());
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST(AuditHtml, ALargeFleetStaysASmallFile) { EXPECT_LT(audit_html(testing::large_report()).size(), 3'000'000U); }

TEST(PlanWaterfall, StepsLeadFromTheBillToThePlan) {
  AuditReport report = testing::empty_report();
  report.findings = {testing::make_finding("F-1", "first", StopNodes{{"a"}}, Money::units(500)),
                     testing::make_finding("F-2", "second", StopNodes{{"b"}}, Money::units(250))};
  report.totals.bill_per_month = Money::units(2000);
  report.totals.plan_per_month = Money::units(1250);
  const std::string drawing = plan_waterfall(report).str();
  EXPECT_THAT(drawing, HasSubstr("x=\"750\" width=\"250\" height=\"1\" class=\"saving\""));  // 2,000 − 500
  EXPECT_THAT(drawing, HasSubstr("x=\"625\" width=\"125\" height=\"1\" class=\"saving\""));  // − 250
  EXPECT_THAT(drawing, HasSubstr("x=\"0\" width=\"625\" height=\"1\" class=\"after\""));
}

TEST(PlanWaterfall, ManyFindingsEndInOneStepForTheRest) {
  EXPECT_EQ(occurrences(plan_waterfall(testing::large_report()).str(), "class=\"saving\""), 21U);
  EXPECT_THAT(plan_waterfall(testing::large_report()).str(), HasSubstr("280 smaller findings"));
}

GoalVerdict missed_by(int64_t amount) {
  GoalVerdict verdict;
  verdict.goal = parse_goal("cost<=800").value();
  verdict.gap = {{"an obstacle", Money::units(amount), "a remedy"}};
  return verdict;
}

AuditReport with_bound(int64_t per_month) {
  AuditReport report = testing::empty_report();
  report.totals.plan_per_month = Money::units(1000);
  report.bound.emplace();
  report.bound->holds = true;
  report.bound->per_month = Money::units(per_month);
  return report;
}

// 1,000 − 200 = the goal of 800; 800 − 300 = the bound of 500.
TEST(GapWaterfall, EndsAtWhatNoPlanCanBeat) {
  const std::string drawing = gap_waterfall(with_bound(500), missed_by(200)).str();
  EXPECT_THAT(drawing, HasSubstr("<h3>From the plan to cost&lt;=800</h3>"));
  EXPECT_THAT(drawing, HasSubstr("x=\"800\" width=\"200\" height=\"1\" class=\"gap\""));
  EXPECT_THAT(drawing, HasSubstr("x=\"500\" width=\"300\" height=\"1\" class=\"gap\""));
  EXPECT_GT(drawing.rfind("No plan costs less"), drawing.rfind("Between the goal and the least that is possible"));
}

TEST(GapWaterfall, SaysThatNoPlanReachesAGoalBelowTheBound) {
  const std::string drawing = gap_waterfall(with_bound(900), missed_by(200)).str();
  EXPECT_THAT(drawing, HasSubstr("No plan with these levers and prices reaches cost&lt;=800"));
  EXPECT_THAT(drawing, Not(HasSubstr("Between the goal")));
}

TEST(HeatMap, ManyNodesAreShownByGroup) {
  const std::string map = heat_map(testing::large_report()).str();
  EXPECT_EQ(occurrences(map, "bar-label"), 3U);
  EXPECT_THAT(map, HasSubstr("667 nodes: production training, p4d.24xlarge"));  // every third of 2,000, the first included
}

TEST(HeatMap, MissingTelemetryIsNotZero) {
  AuditReport report = testing::empty_report();
  report.heat = {{"dark", std::vector<float>(168, -1.0F)}, {"idle", std::vector<float>(168, 0.0F)}};
  const std::string map = heat_map(report).str();
  EXPECT_THAT(map, HasSubstr("x=\"0\" width=\"1000\" height=\"1\" class=\"none\""));
  EXPECT_THAT(map, HasSubstr("x=\"0\" width=\"1000\" height=\"1\" class=\"heat\" fill-opacity=\"0.05\""));
}

TEST(UtilizationCurve, IsEmptyWithoutPointsAndDrawsOnePointANode) {
  EXPECT_TRUE(utilization_curve(testing::empty_report()).empty());
  AuditReport report = testing::empty_report();
  report.curve = {{"a", 70, Money::units(1)}, {"b", 1, Money::units(200)}};
  EXPECT_EQ(occurrences(utilization_curve(report).str(), "<circle"), 2U);
}

}  // namespace
}  // namespace stint
