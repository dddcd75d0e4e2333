#include "report/audit_html.h"

#include <algorithm>

#include "report/audit_charts.h"

namespace stint {
namespace {

constexpr double kLowPct = 30;
constexpr size_t kMostHolders = 200;

std::string percent(double value, int decimals = 0) { return fmt::format("{:.{}f} %", value, decimals); }
std::string percent_or_dash(const std::optional<double>& value) { return value ? percent(*value, 1) : "–"; }
std::string gigabytes(const std::optional<Bytes>& b) { return b ? fmt::format("{:.1f}", static_cast<double>(b->count()) / 1e9) : "–"; }

double share_saved(const AuditTotals& t) {
  return t.bill_per_month.is_zero() ? 0 : 100 * t.saving_per_month.to_double() / t.bill_per_month.to_double();
}

/// Green is good: little risk, much confidence, little effort.
Tone tone_of_burden(Level l) { return l == Level::kLow ? Tone::kGood : l == Level::kMedium ? Tone::kWarn : Tone::kBad; }
Tone tone_of_trust(Level l) { return l == Level::kHigh ? Tone::kGood : l == Level::kMedium ? Tone::kWarn : Tone::kBad; }
Tone tone_of(TelemetryQuality q) {
  return q == TelemetryQuality::kGood ? Tone::kGood : q == TelemetryQuality::kFair ? Tone::kWarn : Tone::kBad;
}

Html key_figures(const AuditReport& report) {
  const AuditTotals& t = report.totals;
  const std::vector<Card> figures = {
      {"Bill a month", whole_units(t.bill_per_month), std::string(t.bill_per_month.currency().code()), Tone::kPlain},
      {"With the plan", whole_units(t.plan_per_month), fmt::format("{} findings", report.findings.size()), Tone::kPlain},
      {"Saving a month", whole_units(t.saving_per_month), percent(share_saved(t), 1) + " of the bill", Tone::kGood},
      {"Mean utilisation", percent(t.mean_utilization_pct, 1), fmt::format("of {:.0f} GPU-hours", t.gpu_hours),
       t.mean_utilization_pct < kLowPct ? Tone::kBad : Tone::kPlain},
      {"A useful GPU-hour", t.per_useful_gpu_hour.to_text().substr(0, t.per_useful_gpu_hour.to_text().size() - 4),
       fmt::format("{}, compute only", t.bill_per_month.currency().code()), Tone::kPlain},
      {"Telemetry covers", percent(t.coverage_pct, 1), "of the GPU-hours", t.coverage_pct < 90 ? Tone::kWarn : Tone::kPlain},
  };
  return cards(figures);
}

Html finding_body(const Finding& f) {
  std::vector<std::pair<std::string, Html>> facts = {{"change", Html::text(describe(f.change))},
                                                     {"saving in the plan", Html::text(f.saving_per_month.to_text() + " a month")},
                                                     {"saving alone", Html::text(f.alone_per_month.to_text() + " a month")}};
  for (const Evidence& e : f.evidence) facts.emplace_back(e.label, Html::text(e.value));
  Html out = definitions(facts);
  if (!f.arithmetic.empty()) out += element("h3", "Arithmetic") + bullet_list(f.arithmetic);
  if (!f.caveats.empty()) out += element("h3", "Caveats") + bullet_list(f.caveats);
  if (!f.apply.empty()) out += element("h3", "Apply");
  for (const std::string& command : f.apply) out += code_block(command);
  return out;
}

Html finding_entry(const Finding& f) {
  const Html meta = element("span", {{"class", "finding-meta"}},
                            element("span", f.id) + badge(fmt::format("confidence {}", name_of(f.confidence)), tone_of_trust(f.confidence)) +
                                badge(fmt::format("risk {}", name_of(f.risk)), tone_of_burden(f.risk)) +
                                badge(fmt::format("effort {}", name_of(f.effort)), tone_of_burden(f.effort)));
  const Html title = element("span", element("span", {{"class", "finding-title"}}, Html::text(f.title)) + meta);
  const Html amount = element("span", {{"class", "finding-amount good"}}, Html::text("−" + whole_units(f.saving_per_month)));
  return disclosure(title + amount, finding_body(f));
}

Html findings_section(const AuditReport& report) {
  Html body;
  for (const Finding& f : report.findings) body += finding_entry(f);
  if (body.empty()) body = element("p", "Nothing found that saves money and can be shown from these data.");
  return section("findings", "Findings",
                 "Ranked by money a month. Each saving is what is left to save after the findings applied before it, so they add up to the plan. "
                 "Open one for its evidence, its arithmetic and the commands that apply it.",
                 body);
}

Html clients_section(const AuditReport& report) {
  if (report.clients.empty()) return {};
  HtmlTable table({{"client"}, {"total", Align::kRight}, {"training", Align::kRight}, {"inference", Align::kRight}, {"evaluation", Align::kRight},
                   {"other compute", Align::kRight}, {"storage", Align::kRight}, {"transfer", Align::kRight}, {"shared", Align::kRight},
                   {"of it held but idle", Align::kRight}, {"GPU-hours", Align::kRight}, {"utilisation", Align::kRight}});
  for (const ClientSpend& c : report.clients)
    table.add_text_row({c.client.empty() ? "nobody in particular" : c.client, whole_units(c.total), whole_units(c.training), whole_units(c.inference),
                        whole_units(c.evaluation), whole_units(c.other_compute), whole_units(c.storage), whole_units(c.transfer),
                        whole_units(c.shared), whole_units(c.inactive), fmt::format("{:.0f}", c.gpu_hours),
                        c.gpu_hours > 0 ? percent(c.mean_utilization_pct) : "–"});
  return section("clients", "Bill by client", "Every line of the bill, to whoever used it; common cost in proportion to GPU money. A month, in "
                 + std::string(report.totals.bill_per_month.currency().code()) + ".", client_bars(report) + table.render("Bill by client"));
}

Html idle_section(const AuditReport& report) {
  if (report.idle_causes.empty() && report.categories.empty()) return {};
  Html body;
  if (!report.idle_causes.empty())
    body += element("h3", "Idle money by cause") + amount_bars(report.idle_causes, report.totals.bill_per_month, "Idle money by cause");
  if (!report.categories.empty())
    body += element("h3", "Spend by category") + amount_bars(report.categories, report.totals.bill_per_month, "Spend by category");
  return section("idle", "Idle money and what the rest is for", "Inactive: held by somebody, but no kernel ran. Stranded: free, but impossible to give out.", body);
}

Html fleet_section(const AuditReport& report) {
  if (report.heat.empty()) return {};
  return section("fleet", "The fleet by hour of the week", "Mean utilisation; the darker, the busier; a thin line is missing telemetry. UTC, Monday first.",
                 heat_map(report));
}

Html curve_section(const AuditReport& report) {
  const Html curve = utilization_curve(report);
  if (curve.empty()) return {};
  return section("curve", "What idleness costs", "The price of a GPU-hour divided by its utilisation. One point a node.", curve);
}

Html nodes_section(const AuditReport& report) {
  HtmlTable table({{"instance"}, {"type"}, {"kind"}, {"client"}, {"market"}, {"a month", Align::kRight}, {"mean", Align::kRight}, {"p95", Align::kRight},
                   {"memory peak / GPU, GB", Align::kRight}, {"telemetry"}, {"diagnosis and findings"}});
  for (const NodeAudit& n : report.nodes) {
    if (!n.mean_utilization_pct || *n.mean_utilization_pct >= kLowPct) continue;
    Html last = element("span", {{"class", "muted"}}, Html::text(fmt::format("{}", fmt::join(n.findings, " "))));
    if (!n.diagnosis.empty()) last = bullet_list(n.diagnosis) + last;
    table.add_row({Html::text(n.name), Html::text(fmt::format("{} ({} × {})", n.instance_type, n.gpu_count, n.gpu_model)), Html::text(name_of(n.kind)),
                   Html::text(n.client), Html::text(name_of(n.market)), Html::text(whole_units(n.cost_per_month)),
                   Html::text(percent_or_dash(n.mean_utilization_pct)), Html::text(percent_or_dash(n.p95_utilization_pct)),
                   Html::text(gigabytes(n.memory_peak) + " / " + gigabytes(n.memory_total)),
                   badge(fmt::format("{}, {:.0f} %", name_of(n.quality), n.coverage_pct), tone_of(n.quality)), last});
  }
  if (table.empty()) return {};
  return section("instances", "Instances below 30 %", "Mean and 95th percentile over the GPU-hours with telemetry.", table.render("Instances below 30 %"));
}

Html holders_section(const AuditReport& report) {
  if (report.holders.empty()) return {};
  HtmlTable table({{"pod, container or job"}, {"client"}, {"GPU-hours", Align::kRight}, {"mean", Align::kRight}, {"samples idle", Align::kRight},
                   {"memory held, GB", Align::kRight}, {"coverage", Align::kRight}});
  for (size_t i = 0; i < std::min(report.holders.size(), kMostHolders); ++i) {
    const HolderAudit& h = report.holders[i];
    table.add_text_row({h.name, h.client, fmt::format("{:.1f}", h.gpu_hours), percent(h.mean_utilization_pct, 1), percent(h.idle_pct),
                        gigabytes(h.memory_mean), percent(h.coverage_pct)});
  }
  const std::string lead = report.holders.size() > kMostHolders
                               ? fmt::format("The {} largest of {}; the JSON has all.", kMostHolders, report.holders.size())
                               : "By GPU-hours, as telemetry names them.";
  return section("holders", "Who held the GPUs", lead, table.render("Who held the GPUs"));
}

Html limits_section(const AuditReport& report) {
  Html body;
  if (!report.out_of_reach.empty()) body += bullet_list(report.out_of_reach);
  if (!report.rejected.empty()) {
    body += element("h3", "Considered and not advised");
    for (const Finding& f : report.rejected)
      body += disclosure(element("span", element("span", {{"class", "finding-title"}}, Html::text(f.title)) +
                                             element("span", {{"class", "finding-meta"}}, Html::text(f.caveats.empty() ? f.id : f.caveats.front()))),
                         finding_body(f));
  }
  return body.empty() ? Html() : section("limits", "What the plan does not reach, and why", "", body);
}

Html sources_section(const AuditReport& report) {
  HtmlTable table({{"source"}, {"format"}, {"taken", Align::kRight}, {"refused", Align::kRight}, {"duplicates", Align::kRight}, {"imported"}});
  for (const ImportRecord& r : report.imports)
    table.add_text_row({r.source, r.kind, fmt::format("{}", r.accepted), fmt::format("{}", r.rejected), fmt::format("{}", r.duplicates), format_utc(r.imported_at)});
  Html body = report.notes.empty() ? Html() : bullet_list(report.notes);
  if (!table.empty()) body += element("h3", "Imports") + table.render("Imports");
  return body.empty() ? Html() : section("sources", "Where the numbers come from", "", body);
}

}  // namespace

std::string audit_html(const AuditReport& report) {
  const AuditTotals& t = report.totals;
  const PageText text = {
      fmt::format("{} {} a month, {} busy", whole_units(t.bill_per_month), t.bill_per_month.currency().code(), percent(t.mean_utilization_pct)),
      "GPU fleet audit",
      fmt::format("{} to {} UTC. The plan below brings it to {}, {} less.", format_date(report.period.begin), format_date(report.period.end),
                  t.plan_per_month.to_text(0), percent(share_saved(t))),
      "Made by Stint from the sources listed above. Savings are arithmetic on the fleet's own hours and the prices named; amounts are a month."};
  Html body = key_figures(report);
  body += section("plan", "From the bill to the plan", fmt::format("A month, in {}.", t.bill_per_month.currency().code()), plan_waterfall(report));
  body += findings_section(report) + clients_section(report) + idle_section(report) + fleet_section(report) + curve_section(report) +
          nodes_section(report) + holders_section(report) + limits_section(report) + sources_section(report);
  return html_page(text, body);
}

}  // namespace stint
