#include "report/audit_html.h"

#include "advise/plan/commitments_aside.h"
#include "base/counted.h"
#include "report/anomalies_view.h"
#include "report/audit_sections.h"
#include "report/cluster_view.h"
#include "report/figures.h"
#include "report/goal_words.h"
#include "report/statement_text.h"

namespace stint {
namespace {

Html key_figures(const AuditReport& report) {
  const AuditTotals& t = report.totals;
  const AmountText amount(report);
  const std::string currency(t.bill_per_month.currency().code());
  const std::string useful = t.per_useful_gpu_hour.to_text(2);
  const std::string_view when = report.covers_period ? " a month" : ", billed days";
  const std::vector<Card> figures = {
      {fmt::format("Bill{}", when), t.priced ? amount(t.bill_per_month) : "–", t.priced ? currency : "no bill and no price known",
       Tone::kPlain},
      {"With the plan", t.priced ? amount(t.plan_per_month) : "–", counted(report.findings.size(), "finding"), Tone::kPlain},
      {fmt::format("Saving{}", when), t.priced ? amount(t.saving_per_month) : "–",
       t.priced ? shown_percent(share_pct(t.saving_per_month, t.bill_per_month), 1) + " of the bill" : "import a bill or prices",
       t.saving_per_month.count_nanos() > 0 ? Tone::kGood : Tone::kPlain},
      {"Mean utilisation", t.mean_utilization_pct ? shown_percent(*t.mean_utilization_pct, 1) : "–",
       fmt::format("of {} GPU-hours", grouped(t.gpu_hours)),
       t.mean_utilization_pct && *t.mean_utilization_pct < kListedBelowPct ? Tone::kBad : Tone::kPlain},
      {"A useful GPU-hour", t.per_useful_gpu_hour.is_zero() ? "–" : useful.substr(0, useful.rfind(' ')),
       currency + ", compute only", Tone::kPlain},
      {"Telemetry covers", shown_percent(t.coverage_pct, 1), "of the GPU-hours",
       t.coverage_pct < 90 ? Tone::kWarn : Tone::kPlain},
  };
  return cards(figures);
}

Html data_section(const AuditReport& report) {
  if (report.data.empty()) return {};
  std::vector<std::pair<std::string, Html>> lines;
  for (const DataCheck& check : report.data)
    lines.emplace_back(check.what,
                       badge(check.complete ? "complete" : "not complete", check.complete ? Tone::kGood : Tone::kWarn) +
                           element("span", ": " + check.says));
  return section("data", "Is the data complete?", "", definitions(lines));
}

PageText page_text(const AuditReport& report) {
  const AuditTotals& t = report.totals;
  const AmountText amount(report);
  const std::string currency(t.bill_per_month.currency().code());
  const std::string_view when = report.covers_period ? "a month" : "in the billed days";
  PageText text;
  text.kicker = "GPU fleet audit";
  text.title = !t.priced ? "A fleet without a price"
               : report.findings.empty()
                   ? fmt::format("{} {} {}", amount(t.bill_per_month), currency, when)
                   : fmt::format("From {} to {} {} {}", amount(t.bill_per_month), amount(t.plan_per_month), currency, when);
  text.subtitle = fmt::format("{}, UTC. ", describe(report.period));
  text.subtitle += t.mean_utilization_pct ? fmt::format("The GPUs were {} used.", shown_percent(*t.mean_utilization_pct))
                                          : "No telemetry says how much the GPUs were used.";
  if (report.commitments_aside) text.subtitle += fmt::format(" {}.", aside_note(*report.commitments_aside));
  for (const std::string& line : report.coverage)
    text.subtitle += " " + line;
  text.footer =
      "Made by Stint from the sources named above. Savings are what a replay showed, else arithmetic on the fleet's own hours "
      "and the prices named with "
      "each finding; amounts are a month.";
  return text;
}

}  // namespace

std::string audit_html(const AuditReport& report, const ClusterAudit* cluster) {
  PageSections page;
  page.add("data", "Data", data_section(report));
  page.add("plan", "Plan", plan_section(report));
  page.add("findings", "Findings", findings_section(report));
  page.add("goals", "Goals", goals_section(report));
  page.add("proof", "Replay", proof_section(report));
  page.add("clients", "Clients", clients_section(report));
  page.add("anomalies", "Unusual days", anomalies_section(report));
  page.add("idle", "Idle money", idle_section(report));
  if (cluster != nullptr) page.add("cluster", "Queue", cluster_section(*cluster, report));
  page.add("curve", "Cost against use", curve_section(report));
  if (!report.findings.empty()) page.add(annex("Annex: findings with their commands, and what the figures rest on"));
  page.add("fleet", "Use by hour", fleet_section(report));
  page.add("instances", "Low instances", instances_section(report));
  page.add("holders", "GPU holders", holders_section(report));
  page.add("limits", "Not reached", limits_section(report));
  page.add("sources", "Sources", sources_section(report));
  return html_page(page_text(report), key_figures(report) + page.render());
}

}  // namespace stint
