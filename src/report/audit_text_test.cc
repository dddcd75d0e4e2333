#include "report/audit_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/audit_html.h"
#include "report/audit_json.h"
#include "report/figures.h"
#include "report/testing_report.h"
#include "report/utf8.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t widest_line(const std::string& text) {
  size_t widest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    widest = std::max(widest, display_width(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

/// Running text as one line.
std::string unwrapped(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != '\n' && c != ' ')
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  return out;
}

TEST(AuditText, SaysBillPlanAndSaving) {
  const std::string text = audit_text(testing::agency_report(), Colour::kNo);
  for (const char* words :
       {"2026-10-01 to 2026-10-31", "47,000.00 USD", "21,636.00 USD", "25,364.00 USD  54.0 % of the bill", "of 18,600 GPU-hours"})
    EXPECT_THAT(text, HasSubstr(words));
}

// 11,639.05 of the first finding at an estimated price, 947.22 billed again, the others arithmetic: 25,364.00 in all.
TEST(AuditText, SaysWhatTheHeadlineRestsOn) {
  const std::string text = audit_text(testing::agency_report(), Screen(Colour::kNo, 120));
  for (const char* words :
       {"replayed                     947.22 USD", "arithmetic                12,777.73 USD",
        "doubtful price            11,639.05 USD",
        "The plan costs 20,000.00 USD to 25,000.00 USD with spot prices between 26 % lower and 81 % higher.",
        "Is the data complete?", "aws 2026-10-01 to 2026-10-10", "What is not used, by cause: 19,400.00 USD a month in all",
        "From the plan to cost<=18000", "jobs that may end later", "3,000.00"})
    EXPECT_THAT(text, HasSubstr(words));
  EXPECT_LT(text.find("Is the data complete?"), text.find("What to change first"));
}

// 21,636.00 with the plan, 1,000.00 of commitments beside it.
TEST(AuditText, SaysWhatCommitmentsOnFewDaysWouldAddOnEveryScreen) {
  AuditReport report = testing::agency_report();
  const std::string words =
      "commitments that rest on 31 days of use, where 90 are asked for, would take 1,000.00 USD a month off this plan, to "
      "20,636.00 USD (--commit-on-days 31 counts them)";
  EXPECT_THAT(unwrapped(audit_text(report, Colour::kNo)), HasSubstr(words));
  EXPECT_THAT(audit_html(report), HasSubstr(words));
  const auto json = nlohmann::json::parse(audit_json(report))["totals"]["commitments_aside"];
  EXPECT_EQ(json["saving_per_month"], 1000);
  EXPECT_EQ(json["plan_per_month"], 20636);
  EXPECT_EQ(json["days"], 31);

  report.commitments_aside->days = 1;
  EXPECT_THAT(
      unwrapped(audit_text(report, Colour::kNo)),
      HasSubstr("rest on 1 day of use, where 90 are asked for, would take 1,000.00 USD a month off this plan, to 20,636.00 USD "
                "(28 days are the least that --commit-on-days takes)"));
  report.commitments_aside.reset();
  EXPECT_THAT(unwrapped(audit_text(report, Colour::kNo)), Not(HasSubstr("commit-on-days")));
  EXPECT_TRUE(nlohmann::json::parse(audit_json(report))["totals"]["commitments_aside"].is_null());
}

TEST(AuditText, FitsIn120Columns) {
  for (const AuditReport& report : {testing::agency_report(), testing::empty_report(), testing::large_report()})
    EXPECT_LE(widest_line(audit_text(report, Screen(Colour::kNo, 120))), 120U);
}

TEST(AuditText, LongListsAreCutAndSayHowMuchIsLeft) {
  const std::string text = audit_text(testing::large_report(), Colour::kNo);
  EXPECT_THAT(text, HasSubstr("… and 270 more"));   // of 300 findings, 30 shown
  EXPECT_THAT(text, HasSubstr("… and 2985 more"));  // of 3,000 pods, 15 shown
}

TEST(AuditText, SaysHowFarEachFindingWasProven) {
  const AuditReport report = testing::agency_report();
  const std::string text = audit_text(report, Colour::kNo);
  for (const char* words : {"replayed", "billed again", "arithmetic"})
    EXPECT_THAT(text, HasSubstr(words));
  EXPECT_THAT(text, HasSubstr("the replayed changes together: 31 jobs run again, 10,000.00 USD a month saved"));
  const std::string one = explain_finding(report, "F-00000001", Colour::kNo).value();
  EXPECT_THAT(one, HasSubstr("submission to end: 10.0 h → 11.2 h on average, +11.5 % (+8.0 to +14.2)"));
  EXPECT_THAT(one, HasSubstr("9,000.00 USD to 10,500.00 USD"));
  EXPECT_THAT(explain_finding(report, "F-00000002", Colour::kNo).value(),
              HasSubstr("arithmetic, not replayed: a service known by telemetry alone"));
}

TEST(AuditText, WithoutTelemetryNothingIsSaidAboutUse) {
  const std::string text = audit_text(testing::empty_report(), Colour::kNo);
  EXPECT_THAT(text, HasSubstr("mean utilisation                not known"));
  EXPECT_THAT(text, HasSubstr("Nothing found"));
}

TEST(AuditText, ABillOfTenDaysIsNoBillOfAMonth) {
  AuditReport report = testing::agency_report();
  report.covers_period = false;
  const std::string text = audit_text(report, Colour::kNo);
  EXPECT_THAT(text, HasSubstr("bill, billed days           47,000.00 USD"));
  EXPECT_THAT(text, HasSubstr("saving, billed days         25,364.00 USD"));
  EXPECT_THAT(text, Not(HasSubstr("bill a month")));
  EXPECT_THAT(audit_html(report), HasSubstr("From 47,000 to 21,636 USD in the billed days"));
}

TEST(AuditText, WithoutAnyPriceNoAmountIsSaid) {
  AuditReport report = testing::empty_report();
  report.totals.priced = false;
  const std::string text = audit_text(report, Colour::kNo);
  EXPECT_THAT(text, HasSubstr("saving a month                  not known  import a bill or prices"));
  EXPECT_THAT(text, Not(HasSubstr("0.00 USD")));
  EXPECT_TRUE(nlohmann::json::parse(audit_json(report))["totals"]["saving_per_month"].is_null());
}

TEST(AuditText, NamesCannotReachTheTerminal) {
  const AuditReport report = testing::hostile_report();
  const std::string text = audit_text(report, Colour::kNo) + explain_finding(report, "F-00000001", Colour::kNo).value();
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\u202E")));
}

TEST(ExplainFinding, ShowsEvidenceArithmeticCaveatsAndCommands) {
  const AuditReport report = testing::agency_report();
  const std::string text = explain_finding(report, "F-00000001", Colour::kNo).value();
  for (const char* words : {"7.2 %", "744 h × 32.7726 USD = 24,382.81 USD", "keep 10 % on demand",
                            "scontrol update NodeName=train-[01-12]", "11,639.05 USD"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(ExplainFinding, AlsoOfWhatWasNotAdvised) {
  EXPECT_THAT(explain_finding(testing::agency_report(), "F-0000000a", Colour::kNo).value(), HasSubstr("not advised"));
}

TEST(ExplainFinding, AnUnknownIdNamesTheOnesThereAre) {
  const auto result = explain_finding(testing::agency_report(), "F-nonsense", Colour::kNo);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("F-00000001"));
}

TEST(Figures, SmallBillsShowCents) {
  AuditReport report = testing::empty_report();
  report.totals.bill_per_month = Money::parse("12.34").value();
  EXPECT_EQ(AmountText(report)(report.totals.bill_per_month), "12.34");
  report.totals.bill_per_month = Money::units(1234567);
  EXPECT_EQ(AmountText(report)(report.totals.bill_per_month), "1,234,567");
}

TEST(Figures, LargeNumbersAreGrouped) {
  EXPECT_EQ(grouped(18600.4), "18,600");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-1000), "−1,000");
}

TEST(Figures, IdleCausesAreSaidInWordsAndOtherNamesStay) {
  for (size_t i = 1; i < kIdleCauseCount; ++i)
    EXPECT_NE(shown_cause(name_of(static_cast<IdleCause>(i))), name_of(static_cast<IdleCause>(i)));
  EXPECT_EQ(shown_cause("serving"), "serving");
}

}  // namespace
}  // namespace stint
