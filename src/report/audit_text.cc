#include "report/audit_text.h"

#include <algorithm>

#include "advise/plan/commitments_aside.h"
#include "report/anomalies_view.h"
#include "report/figures.h"
#include "report/goal_words.h"
#include "report/proof_words.h"
#include "report/statement_text.h"
#include "report/utf8.h"

namespace stint {
namespace {

constexpr size_t kMostRows = 15;
constexpr size_t kMostFindings = 30;

/// Said below a list that was cut.
std::string and_more(size_t all, size_t shown = kMostRows) {
  return all <= shown ? "" : fmt::format("  … and {} more: --json and --html have them\n", all - shown);
}

Tone tone_of(Level risk) { return risk == Level::kLow ? Tone::kGood : risk == Level::kMedium ? Tone::kWarn : Tone::kBad; }

std::string headline(const AuditReport& report, Screen screen) {
  const AuditTotals& t = report.totals;
  const auto row = [](std::string_view label, const std::string& value, std::string_view note) {
    return fmt::format("  {:<20} {:>20}{}{}\n", label, value, note.empty() ? "" : "  ", note);
  };
  std::string out = toned(fmt::format("GPU fleet audit, {} (UTC)", describe(report.period)), Tone::kStrong, screen) + "\n\n";
  for (const std::string& line : report.coverage)
    out += toned(line, Tone::kWarn, screen) + '\n';
  if (!report.coverage.empty()) out += '\n';
  const std::string_view when = report.covers_period ? " a month" : ", billed days";
  out += row(fmt::format("bill{}", when), t.priced ? t.bill_per_month.to_text() : "not known", "");
  out += row("with the plan", t.priced ? t.plan_per_month.to_text() : "not known", "");
  if (t.priced)
    out += fmt::format("  {:<20} {}  {} of the bill\n", fmt::format("saving{}", when),
                       toned(fmt::format("{:>20}", t.saving_per_month.to_text()), Tone::kGood, screen),
                       shown_percent(share_pct(t.saving_per_month, t.bill_per_month), 1));
  else
    out += row(fmt::format("saving{}", when), "not known", "import a bill or prices");
  if (t.priced && !t.saving_per_month.is_zero()) {
    out += row("  replayed", t.saving_by.replayed.to_text(), "run or billed again");
    out += row("  arithmetic", t.saving_by.arithmetic.to_text(), "not replayed");
    out += row("  doubtful price", t.saving_by.doubtful_price.to_text(), "rests on an estimated or old price");
  }
  if (report.commitments_aside) out += wrapped(aside_note(*report.commitments_aside) + ".", screen, 2);
  if (t.plan_range)
    out += wrapped(fmt::format("The plan costs {} to {} with {}.", t.plan_range->low.to_text(), t.plan_range->high.to_text(),
                               t.plan_range->source),
                   screen, 2);
  out += row("mean utilisation", t.mean_utilization_pct ? shown_percent(*t.mean_utilization_pct, 1) : "not known",
             fmt::format("of {} GPU-hours; telemetry covers {}", grouped(t.gpu_hours), shown_percent(t.coverage_pct, 1)));
  out += row("a useful GPU-hour", t.per_useful_gpu_hour.is_zero() ? "not known" : t.per_useful_gpu_hour.to_text(),
             "compute money / (GPU-hours × utilisation)");
  return out;
}

std::string data_table(const AuditReport& report, Screen screen) {
  Table table({{"data"}, {"complete"}, {"", Align::kLeft, 0}});
  for (const DataCheck& check : report.data) {
    table.add_row({std::string(check.what), check.complete ? "yes" : "no", check.says});
    table.tone_cell(1, check.complete ? Tone::kGood : Tone::kWarn);
  }
  return table.empty() ? "" : heading("Is the data complete?", screen) + table.render(screen, 2);
}

std::string findings_table(const AuditReport& report, Screen screen) {
  const AmountText amount(report);
  const std::string currency(report.totals.bill_per_month.currency().code());
  Table table({{"finding"},
               {.heading = "what", .max_width = 50, .least = 30},
               {fmt::format("{} a month", currency), Align::kRight},
               {"proof", Align::kLeft, 0, 1},
               {"confidence", Align::kLeft, 0, 3},
               {"risk", Align::kLeft, 0, 2},
               {"effort", Align::kLeft, 0, 4}});
  for (size_t i = 0; i < std::min(report.findings.size(), kMostFindings); ++i) {
    const Finding& f = report.findings[i];
    table.add_row({f.id, f.title, amount(f.saving_per_month), shown_proof(f), std::string(name_of(f.confidence)),
                   std::string(name_of(f.risk)), std::string(name_of(f.effort))});
    table.tone_cell(5, tone_of(f.risk));
  }
  return table.render(screen, 2) + and_more(report.findings.size(), kMostFindings);
}

std::string low_nodes_table(const AuditReport& report, Screen screen) {
  const AmountText amount(report);
  Table table({{"instance", Align::kLeft, 22},
               {"type", Align::kLeft, 20, 1},
               {"work", Align::kLeft, 12, 3},
               {"mean", Align::kRight},
               {"p95", Align::kRight, 0, 4},
               {"a month", Align::kRight},
               {"coverage", Align::kRight, 0, 5},
               {"findings", Align::kLeft, 21, 2}});
  size_t low = 0;
  for (const NodeAudit& n : report.nodes) {
    if (!is_low(n)) continue;
    if (++low > kMostRows) continue;
    table.add_row({n.name, n.instance_type.empty() ? n.gpu_model : n.instance_type, std::string(name_of(n.kind)),
                   shown_percent(*n.mean_utilization_pct, 1), percent_or_dash(n.p95_utilization_pct), amount.cost_of(n),
                   shown_percent(n.coverage_pct), fmt::format("{}", fmt::join(n.findings, " "))});
  }
  if (table.empty()) return "";
  std::string out = heading("Instances below 30 % mean utilisation", screen) + table.render(screen, 2);
  return out + and_more(low);
}

std::string holders_table(const AuditReport& report, Screen screen) {
  if (report.holders.empty()) return "";
  Table table({{"pod, container or job", Align::kLeft, 52},
               {"client", Align::kLeft, 18, 1},
               {"GPU-hours", Align::kRight},
               {"mean", Align::kRight},
               {"idle", Align::kRight, 0, 2},
               {"memory GB", Align::kRight, 0, 3}});
  for (size_t i = 0; i < std::min(report.holders.size(), kMostRows); ++i) {
    const HolderAudit& h = report.holders[i];
    table.add_row({h.name, h.client, grouped(h.gpu_hours), percent_or_dash(h.mean_utilization_pct),
                   percent_or_dash(h.idle_pct, 0), gigabytes(h.memory_mean)});
  }
  std::string out = heading("Who held the GPUs", screen) + table.render(screen, 2);
  return out + and_more(report.holders.size());
}

std::string clients_table(const AuditReport& report, Screen screen) {
  const AmountText amount(report);
  const std::vector<SpendPart> parts = spend_parts(report);
  std::vector<Column> columns = {{"client", Align::kLeft, 22}, {"total", Align::kRight}};
  for (const SpendPart& part : parts)
    columns.push_back({std::string(part.name), Align::kRight, 0, 1});
  columns.push_back({"idle", Align::kRight});
  Table table(columns);
  for (size_t i = 0; i < std::min(report.clients.size(), kMostRows); ++i) {
    const ClientSpend& c = report.clients[i];
    std::vector<std::string> cells = {shown_client(c.client), amount(c.total)};
    for (const SpendPart& part : parts)
      cells.push_back((c.*part.amount).is_zero() ? "–" : amount(c.*part.amount));
    cells.push_back(c.inactive.is_zero() ? "–" : amount(c.inactive));
    table.add_row(std::move(cells));
  }
  if (table.empty()) return "";
  std::string out =
      heading("Bill by client, a month (idle: of the total, allocated but not used)", screen) + table.render(screen, 2);
  return out + and_more(report.clients.size());
}

std::string amounts_table(std::string_view title, const std::vector<NamedAmount>& amounts, const AuditReport& report,
                          Screen screen) {
  const AmountText amount(report);
  Table table({{"what", Align::kLeft, 40}, {"a month", Align::kRight}, {"of the bill", Align::kRight}});
  for (const NamedAmount& a : amounts)
    table.add_row({shown_cause(a.name), amount(a.amount), shown_percent(share_pct(a.amount, report.totals.bill_per_month), 1)});
  return table.empty() ? "" : heading(title, screen) + table.render(screen, 2);
}

std::string details(const Finding& f, Screen screen) {
  std::string out = fmt::format("{}  {}\n\n", toned(f.id, Tone::kStrong, screen), printable(f.title));
  out += wrapped(printable(describe(f.change)), screen, 2);
  out += fmt::format("\n  Saves {} a month within the plan, {} alone. Confidence {}, risk {}, effort {}.\n",
                     f.saving_per_month.to_text(), f.alone_per_month.to_text(), name_of(f.confidence), name_of(f.risk),
                     name_of(f.effort));
  if (!f.evidence.empty()) {
    Table table({{"evidence"}, {"", Align::kLeft, 70}});
    for (const Evidence& e : f.evidence)
      table.add_row({e.label, e.value});
    out += '\n' + table.render(screen, 2);
  }
  if (!f.arithmetic.empty()) out += heading("Arithmetic", screen) + bullets(f.arithmetic, screen);
  if (f.proof) out += heading("Proof", screen) + bullets(proof_lines(*f.proof), screen);
  if (!f.caveats.empty()) out += heading("Caveats", screen) + bullets(f.caveats, screen);
  if (!f.apply.empty()) out += heading("Apply", screen);
  std::string commands;
  for (const std::string& command : f.apply)
    commands += printable_lines(command) + "\n";
  return fitted(out, screen) + fitted_commands(commands, screen);
}

}  // namespace

std::string audit_text(const AuditReport& report, Screen screen) {
  std::string out = headline(report, screen) + data_table(report, screen);
  out += heading("What to change first", screen);
  out += report.findings.empty() ? "  Nothing found that saves money and can be shown from these data.\n"
                                 : findings_table(report, screen);
  if (!report.goals.empty())
    out += heading("Goals", screen) + goals_table(report.goals, screen) + bullets(goal_lines(report.goals), screen) +
           gap_tables(report.goals, screen);
  if (report.proof)
    out += heading("What a replay of the fleet's own work says", screen) + bullets(plan_proof_lines(report), screen);
  out += clients_table(report, screen);
  if (report.anomalies && !report.anomalies->anomalies.empty())
    out += heading("Unusual days", screen) + anomalies_text(*report.anomalies, report.totals.bill_per_month.currency(), screen);
  out += amounts_table(fmt::format("What is not used, by cause: {} a month in all", report.totals.not_used_per_month.to_text()),
                       report.idle_causes, report, screen);
  out += amounts_table("Spend by category", report.categories, report, screen);
  out += low_nodes_table(report, screen);
  out += holders_table(report, screen);
  if (!report.out_of_reach.empty()) out += heading("Out of reach of this plan", screen) + bullets(report.out_of_reach, screen);
  if (!report.notes.empty()) out += heading("Notes on the data", screen) + bullets(report.notes, screen);
  if (!report.findings.empty())
    out += fmt::format("\nHow a finding was reached and how to apply it: --explain {}\n", report.findings.front().id);
  return fitted(out, screen);
}

Result<std::string> explain_finding(const AuditReport& report, std::string_view id, Screen screen) {
  for (const std::vector<Finding>* list : {&report.findings, &report.rejected})
    for (const Finding& f : *list)
      if (f.id == id) return (list == &report.rejected ? "Considered, and not advised.\n\n" : "") + details(f, screen);
  std::vector<std::string> ids;
  for (const Finding& f : report.findings)
    ids.push_back(f.id);
  return make_error(ErrorCode::kNotFound, "no finding '{}' in this period; there are: {}", printable(id),
                    ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")));
}

}  // namespace stint
