// The joint plan as a page: what each step takes off, what that costs in time, and the steps in full.
#include "advise/plan/commitments_aside.h"
#include "report/audit_sections.h"
#include "report/figures.h"
#include "report/goal_words.h"
#include "report/joint_plan_view.h"
#include "report/plan_front.h"
#include "report/replay_figures.h"
#include "report/statement_text.h"

namespace stint {
namespace {

Html key_figures(const JointPlan& plan) {
  const AuditTotals& t = plan.report.totals;
  const AmountText amount(plan.report);
  std::vector<Card> figures = {
      {"Bill a month", amount(t.bill_per_month), std::string(t.bill_per_month.currency().code()), Tone::kPlain},
      {"With the plan", amount(t.plan_per_month), fmt::format("{} steps", plan.report.findings.size()), Tone::kPlain},
      {"Saving a month", amount(t.saving_per_month),
       shown_percent(share_pct(t.saving_per_month, t.bill_per_month), 1) + " of the bill",
       t.saving_per_month.count_nanos() > 0 ? Tone::kGood : Tone::kPlain},
  };
  if (!plan.front.empty() && plan.report.proof) {
    const ProofJobs& after = plan.report.proof->together.after;
    figures.push_back({"Submission to end", shown_seconds(after.completion_mean_s),
                       fmt::format("{} as it is", shown_seconds(plan.as_is_completion_s)), Tone::kPlain});
    figures.push_back({"Waiting", shown_seconds(after.waiting_mean_s),
                       fmt::format("{} as it is", shown_seconds(plan.as_is_waiting_s)), Tone::kPlain});
  }
  return cards(figures);
}

Html front_section(const JointPlan& plan) {
  const Html chart = plan_front_chart(plan);
  if (chart.empty()) return {};
  return section(
      "front", "Cost against time",
      "Each point is a plan that was replayed as a whole; none that was tried is both cheaper and quicker than one of these. "
      "Point at one to see what it leaves out.",
      element("div", {{"class", "chart"}}, chart));
}

Html gains_section(const JointPlan& plan) {
  std::vector<std::string> lines = plan.gains;
  if (!plan.budget_missed.empty()) lines.insert(lines.begin(), plan.budget_missed);
  return lines.empty() ? Html() : section("gains", "Left out for the sake of the rest", "", bullet_list(lines));
}

Html beside_section(const JointPlan& plan) {
  const std::vector<std::string>& lines = plan.report.beside;
  return lines.empty() ? Html() : section("beside", "Beside the plan, in no sum of it", "", bullet_list(lines));
}

}  // namespace

std::string joint_plan_html(const JointPlan& plan) {
  const AuditTotals& t = plan.report.totals;
  const AmountText amount(plan.report);
  PageText text;
  text.kicker = "Joint plan";
  text.title = !t.priced ? "A fleet without a price"
                         : fmt::format("From {} to {} {} a month", amount(t.bill_per_month), amount(t.plan_per_month),
                                       t.bill_per_month.currency().code());
  text.subtitle = fmt::format("{}, UTC. Steps in the order in which they are applied, each on what those before it left.",
                              describe(plan.report.period));
  if (plan.report.commitments_aside) text.subtitle += fmt::format(" {}.", aside_note(*plan.report.commitments_aside));
  text.footer = "Made by Stint. Amounts are a month; the steps sum to the saving.";
  PageSections page;
  page.add("plan", "Plan", plan_section(plan.report));
  page.add("front", "Cost against time", front_section(plan));
  page.add("goals", "Goals", goals_section(plan.report));
  page.add("findings", "Findings", findings_section(plan.report));
  page.add("proof", "Replay", proof_section(plan.report));
  page.add("gains", "Left out", gains_section(plan));
  if (!plan.report.findings.empty()) page.add(annex("Annex: findings with their commands, and what the figures rest on"));
  page.add("beside", "Beside the plan", beside_section(plan));
  page.add("limits", "Not reached", limits_section(plan.report));
  page.add("sources", "Sources", sources_section(plan.report));
  return html_page(text, key_figures(plan) + page.render());
}

}  // namespace stint
