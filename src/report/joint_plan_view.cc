#include "report/joint_plan_view.h"

#include <fmt/ranges.h>

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
  out += fmt::format("  {}\n", search_line(plan.search));
  if (const std::string line = bound_line(plan.report); !line.empty()) out += fmt::format("  {}\n", line);
  if (!plan.budget_missed.empty()) out += "  " + toned(plan.budget_missed, Tone::kBad, screen) + "\n";
  if (!plan.report.goals.empty())
    out += heading("Goals", screen) + goals_table(plan.report.goals, screen) + bullets(goal_lines(plan.report.goals), screen) +
           gap_tables(plan.report.goals, screen);
  out += heading("Steps, each on what those before it left", screen);
  out += plan.report.findings.empty() ? "  Nothing found that saves money and survives.\n" : steps_table(plan, screen);
  out += bound_text(plan.report, screen);
  out += front_table(plan, screen);
  if (plan.report.proof)
    out += heading("What a replay of the fleet's own work says", screen) + bullets(plan_proof_lines(plan.report), screen);
  if (!plan.gains.empty()) out += heading("Left out for the sake of the rest", screen) + bullets(plan.gains, screen);
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
      {"bound_per_month", bound_per_month(r)},
      {"bound", bound_json(r)},
      {"search",
       {{"plans", plan.search.plans},
        {"parts", plan.search.parts},
        {"every_set", plan.search.every_set},
        {"saving_at_most_per_month", plan.search.at_most.to_double()}}},
      {"findings", array_of(r.findings, finding_json)},
      {"rejected", array_of(r.rejected, finding_json)},
      {"front", array_of(plan.front, front_point)},
      {"as_is", {{"completion_mean_s", plan.as_is_completion_s}, {"waiting_mean_s", plan.as_is_waiting_s}}},
      {"proof", to_json(r.proof)},
      {"goals", to_json(r.goals)},
      {"gains", array_of(plan.gains, text)},
      {"budget_missed", printable(plan.budget_missed)},
      {"out_of_reach", array_of(r.out_of_reach, text)},
  };
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stint
