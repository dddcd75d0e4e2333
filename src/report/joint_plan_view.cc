#include "report/joint_plan_view.h"

#include <fmt/ranges.h>

#include <cmath>

#include "advise/plan/commitments_aside.h"
#include "base/counted.h"
#include "report/audit_json.h"
#include "report/bound_view.h"
#include "report/figures.h"
#include "report/goal_words.h"
#include "report/json_list.h"
#include "report/proof_json.h"
#include "report/proof_words.h"
#include "report/replay_figures.h"
#include "report/statement_text.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostSteps = 60;

std::string steps_table(const JointPlan& plan, Screen screen) {
  const AmountText amount(plan.report);
  Table table({{"step", Align::kRight},
               {"finding"},
               {"what", Align::kLeft, 44},
               {"saves", Align::kRight},
               {"then a month", Align::kRight, 0, 2},
               {"proof", Align::kLeft, 0, 3},
               {"risk", Align::kLeft, 0, 1}});
  Money left = plan.report.totals.bill_per_month;
  for (const Finding& f : plan.report.findings) {
    left = left - f.saving_per_month;
    if (static_cast<size_t>(f.step) <= kMostSteps)
      table.add_row({fmt::format("{}", f.step), f.id, f.title, amount(f.saving_per_month), amount(left), shown_proof(f),
                     std::string(name_of(f.risk))});
  }
  std::string out = table.render(screen, 2);
  if (plan.report.findings.size() > kMostSteps)
    out += fmt::format("  … and {} more: --json has them\n", plan.report.findings.size() - kMostSteps);
  return out;
}

std::string front_table(const JointPlan& plan, Screen screen) {
  if (plan.front.empty()) return {};
  const AmountText amount(plan.report);
  Table table({{"a month", Align::kRight},
               {"submission to end", Align::kRight},
               {"waiting", Align::kRight, 0, 2},
               {"leaves out", Align::kLeft, 50},
               {""}});
  table.add_row({amount(plan.report.totals.bill_per_month), shown_seconds(plan.as_is_completion_s),
                 shown_seconds(plan.as_is_waiting_s), "everything: as it is", ""});
  for (const FrontPoint& p : plan.front)
    table.add_row({amount(p.plan_per_month), shown_seconds(p.completion_mean_s), shown_seconds(p.waiting_mean_s),
                   p.without.empty() ? "nothing" : fmt::format("{}", fmt::join(p.without, " ")), p.chosen ? "chosen" : ""});
  return heading("Cost against time: no plan tried is both cheaper and quicker than one of these", screen) +
         table.render(screen, 2);
}

std::string search_line(const JointSearch& s) {
  const std::string tried = fmt::format("{} of {} tried: ", counted(s.plans, "plan"), counted(s.parts, "independent part"));
  return tried + (s.every_set ? std::string("by the books no set of these findings saves more")
                              : fmt::format("the best that steps found; no set of these findings saves more than {} a month",
                                            s.at_most.to_text()));
}

std::string calendar_table(const JointPlan& plan, Screen screen) {
  if (plan.calendar.empty()) return {};
  const AmountText amount(plan.report);
  const bool has_cost = plan.calendar.front().one_off.has_value();
  Table table({{"step", Align::kRight},
               {"from"},
               {"to"},
               {"owners", Align::kLeft, 24},
               {"what", Align::kLeft, 40},
               {"days of work", Align::kRight, 0, 1},
               {"costs once", Align::kRight},
               {"paid back", Align::kRight, 0, 2}});
  for (const CalendarStep& s : plan.calendar)
    table.add_row({fmt::format("{}", s.step), format_date(s.begin), format_date(s.end),
                   fmt::format("{}", fmt::join(s.owners, ", ")), s.title, fmt::format("{:.1f}", s.effort_days),
                   s.one_off ? amount(*s.one_off) : "–",
                   s.payback_days ? fmt::format("in {:.0f} days", std::ceil(*s.payback_days)) : "–"});
  std::string out = heading("Calendar, one step after another", screen) + table.render(screen, 2);
  out += fmt::format("  Days of work are taken by effort: low {}, medium {}, high {}.{}\n", effort_days(Level::kLow),
                     effort_days(Level::kMedium), effort_days(Level::kHigh),
                     has_cost ? "" : " --day-cost says when a step is paid back.");
  return out;
}

Json calendar_json(const CalendarStep& s) {
  return {{"step", s.step},
          {"finding", s.finding},
          {"title", printable(s.title)},
          {"owners", s.owners},
          {"begin", format_date(s.begin)},
          {"end", format_date(s.end)},
          {"effort_days", s.effort_days},
          {"saving_per_month", s.saving_per_month.to_double()},
          {"one_off", s.one_off ? Json(s.one_off->to_double()) : Json()},
          {"payback_days", s.payback_days ? Json(*s.payback_days) : Json()}};
}

std::string assumed_line(const AssumedPlan& a) {
  return fmt::format(
      "at assumed prices, {} % off for a year and {} % off on spot, no provider's: {} a month{}", a.discount.reserved_pct,
      a.discount.spot_pct, a.plan_per_month.to_text(),
      a.by_arithmetic.is_zero() ? std::string() : fmt::format(" ({} of its saving is not replayed)", a.by_arithmetic.to_text()));
}

Json assumed_json(const AssumedPlan& a) {
  return {{"reserved_pct", a.discount.reserved_pct},
          {"spot_pct", a.discount.spot_pct},
          {"plan_per_month", a.plan_per_month.to_double()},
          {"by_arithmetic_per_month", a.by_arithmetic.to_double()}};
}

Json discount_json(const DiscountOutlook& d) {
  return {{"provider", d.provider}, {"pct", d.pct}, {"saving_per_month", d.saving_per_month.to_double()}};
}

Json high_risk_json(const RiskOutlook& r) {
  return {{"lever", name_of(r.lever)}, {"saving_per_month", r.saving_per_month.to_double()}, {"rests_on", printable(r.rests_on)}};
}

Json front_point(const FrontPoint& p) {
  return {{"plan_per_month", p.plan_per_month.to_double()},
          {"completion_mean_s", p.completion_mean_s},
          {"waiting_mean_s", p.waiting_mean_s},
          {"without", p.without},
          {"chosen", p.chosen}};
}

}  // namespace

std::string joint_plan_text(const JointPlan& plan, Screen screen) {
  const AuditTotals& t = plan.report.totals;
  std::string out = toned(fmt::format("Joint plan, {} (UTC)", describe(plan.report.period)), Tone::kStrong, screen) + "\n\n";
  if (!t.priced) return out + "  Nothing says what this fleet costs: import a bill or prices.\n";
  out += fmt::format("  {} a month now, {} with the plan: {} saved, {} of the bill\n", t.bill_per_month.to_text(),
                     t.plan_per_month.to_text(), t.saving_per_month.to_text(),
                     shown_percent(share_pct(t.saving_per_month, t.bill_per_month), 1));
  if (plan.report.commitments_aside) out += wrapped(aside_note(*plan.report.commitments_aside) + ".", screen, 2);
  out += fmt::format("  {}\n", search_line(plan.search));
  if (const std::string line = bound_line(plan.report); !line.empty()) out += fmt::format("  {}\n", line);
  for (const AssumedPlan& a : plan.assumed)
    out += fmt::format("  {}\n", assumed_line(a));
  for (const std::string& line : discount_notes(plan.report.discounts))
    out += fmt::format("  {}\n", line);
  if (!plan.budget_missed.empty()) out += "  " + toned(plan.budget_missed, Tone::kBad, screen) + "\n";
  if (!plan.report.goals.empty())
    out += heading("Goals", screen) + goals_table(plan.report.goals, screen) + bullets(goal_lines(plan.report.goals), screen) +
           gap_tables(plan.report.goals, screen);
  out += heading("Steps, each on what those before it left", screen);
  out += plan.report.findings.empty() ? "  Nothing found that saves money and survives.\n" : steps_table(plan, screen);
  out += calendar_table(plan, screen);
  out += bound_text(plan.report, screen);
  out += front_table(plan, screen);
  if (plan.report.proof)
    out += heading("What a replay of the fleet's own work says", screen) + bullets(plan_proof_lines(plan.report), screen);
  if (!plan.gains.empty()) out += heading("Left out for the sake of the rest", screen) + bullets(plan.gains, screen);
  if (!plan.report.beside.empty())
    out += heading("Beside the plan, in no sum of it", screen) + bullets(plan.report.beside, screen);
  if (!plan.report.out_of_reach.empty())
    out += heading("Out of reach of this plan", screen) + bullets(plan.report.out_of_reach, screen);
  return fitted(out, screen);
}

std::string joint_plan_json(const JointPlan& plan) {
  const AuditReport& r = plan.report;
  const auto text = [](const std::string& line) { return Json(printable(line)); };
  const Json out = {
      {"schema", "stint-joint-plan/1"},
      {"currency", r.totals.bill_per_month.currency().code()},
      {"period", {{"begin", format_utc(r.period.begin)}, {"end", format_utc(r.period.end)}}},
      {"bill_per_month", r.totals.bill_per_month.to_double()},
      {"plan_per_month", r.totals.plan_per_month.to_double()},
      {"saving_per_month", r.totals.saving_per_month.to_double()},
      {"commitments_aside", aside_json(r.commitments_aside)},
      {"bound_per_month", bound_per_month(r)},
      {"bound", bound_json(r)},
      {"assumed", array_of(plan.assumed, assumed_json)},
      {"your_discount", array_of(r.discounts, discount_json)},
      {"search",
       {{"plans", plan.search.plans},
        {"parts", plan.search.parts},
        {"every_set", plan.search.every_set},
        {"saving_at_most_per_month", plan.search.at_most.to_double()}}},
      {"findings", array_of(r.findings, finding_json)},
      {"rejected", array_of(r.rejected, finding_json)},
      {"calendar", array_of(plan.calendar, calendar_json)},
      {"front", array_of(plan.front, front_point)},
      {"as_is", {{"completion_mean_s", plan.as_is_completion_s}, {"waiting_mean_s", plan.as_is_waiting_s}}},
      {"proof", to_json(r.proof)},
      {"goals", to_json(r.goals)},
      {"gains", array_of(plan.gains, text)},
      {"budget_missed", printable(plan.budget_missed)},
      {"high_risk", array_of(r.high_risk, high_risk_json)},
      {"beside", array_of(r.beside, text)},
      {"out_of_reach", array_of(r.out_of_reach, text)},
  };
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stint
