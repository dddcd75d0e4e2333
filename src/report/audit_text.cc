#include "report/audit_text.h"

#include <algorithm>

#include "report/utf8.h"

namespace stint {
namespace {

constexpr size_t kWidth = 110;
constexpr size_t kMostRows = 15;

std::string percent(double value, int decimals = 0) { return fmt::format("{:.{}f} %", value, decimals); }
std::string percent_or_dash(const std::optional<double>& value) { return value ? percent(*value) : "–"; }
/// Whole units, without the currency, which the heading names.
std::string amount(Money m) {
  const std::string text = m.to_text(0);
  return text.substr(0, text.size() - 4);
}

std::string heading(std::string_view text, Colour colour) { return fmt::format("\n{}\n", toned(text, Tone::kStrong, colour)); }

std::string bullets(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    std::string wrapped_line = wrapped(printable(line), kWidth - 4, 4);
    if (wrapped_line.size() > 2) wrapped_line[2] = '-';
    out += wrapped_line;
  }
  return out;
}

Tone tone_of(Level risk) { return risk == Level::kLow ? Tone::kGood : risk == Level::kMedium ? Tone::kWarn : Tone::kBad; }

std::string headline(const AuditReport& report, Colour colour) {
  const AuditTotals& t = report.totals;
  const double share = t.bill_per_month.is_zero() ? 0 : 100 * t.saving_per_month.to_double() / t.bill_per_month.to_double();
  std::string out = fmt::format("{} to {} ({:.2f} billing months)\n\n", format_utc(report.period.begin), format_utc(report.period.end), t.months);
  out += fmt::format("  Bill                 {:>20} a month\n", t.bill_per_month.to_text());
  out += fmt::format("  Plan                 {:>20} a month\n", t.plan_per_month.to_text());
  out += fmt::format("  Saving               {}  ({:.1f} %)\n", toned(fmt::format("{:>20} a month", t.saving_per_month.to_text()), Tone::kGood, colour), share);
  out += fmt::format("  Mean utilisation     {:>15.1f} %     of {:.0f} GPU-hours; telemetry covers {:.1f} %\n", t.mean_utilization_pct, t.gpu_hours, t.coverage_pct);
  out += fmt::format("  A useful GPU-hour    {:>20}\n", t.per_useful_gpu_hour.to_text());
  return out;
}

std::string findings_table(const std::vector<Finding>& findings, std::string_view currency, Colour colour) {
  Table table({{"finding"}, {"what", Align::kLeft, 58}, {fmt::format("{} a month", currency), Align::kRight}, {"confidence"}, {"risk"}, {"effort"}});
  for (const Finding& f : findings) {
    table.add_row({f.id, f.title, amount(f.saving_per_month), std::string(name_of(f.confidence)), std::string(name_of(f.risk)),
                   std::string(name_of(f.effort))});
    table.tone_cell(4, tone_of(f.risk));
  }
  return table.render(colour, 2);
}

std::string low_nodes_table(const AuditReport& report, Colour colour) {
  Table table({{"node", Align::kLeft, 24}, {"type", Align::kLeft, 26}, {"kind"}, {"mean", Align::kRight}, {"p95", Align::kRight},
               {"a month", Align::kRight}, {"coverage", Align::kRight}, {"findings", Align::kLeft, 22}});
  size_t shown = 0, left = 0;
  for (const NodeAudit& n : report.nodes) {
    if (!n.mean_utilization_pct || *n.mean_utilization_pct >= 30) continue;
    if (shown == kMostRows) {
      ++left;
      continue;
    }
    ++shown;
    table.add_row({n.name, n.instance_type, std::string(name_of(n.kind)), percent(*n.mean_utilization_pct, 1), percent_or_dash(n.p95_utilization_pct),
                   amount(n.cost_per_month), percent(n.coverage_pct), fmt::format("{}", fmt::join(n.findings, " "))});
  }
  if (table.empty()) return "";
  std::string out = heading("Instances below 30 % mean utilisation", colour) + table.render(colour, 2);
  if (left > 0) out += fmt::format("  … and {} more: --json or --html shows all\n", left);
  return out;
}

std::string holders_table(const AuditReport& report, Colour colour) {
  if (report.holders.empty()) return "";
  Table table({{"pod, container or job", Align::kLeft, 44}, {"client", Align::kLeft, 18}, {"GPU-hours", Align::kRight}, {"mean", Align::kRight},
               {"idle", Align::kRight}, {"memory GB", Align::kRight}});
  for (size_t i = 0; i < std::min(report.holders.size(), kMostRows); ++i) {
    const HolderAudit& h = report.holders[i];
    table.add_row({h.name, h.client, fmt::format("{:.1f}", h.gpu_hours), percent(h.mean_utilization_pct, 1), percent(h.idle_pct),
                   fmt::format("{:.1f}", static_cast<double>(h.memory_mean.count()) / 1e9)});
  }
  std::string out = heading("Who held the GPUs", colour) + table.render(colour, 2);
  if (report.holders.size() > kMostRows) out += fmt::format("  … and {} more: --json or --html shows all\n", report.holders.size() - kMostRows);
  return out;
}

std::string clients_table(const AuditReport& report, Colour colour) {
  Table table({{"client", Align::kLeft, 26}, {"total", Align::kRight}, {"training", Align::kRight}, {"inference", Align::kRight},
               {"evaluation", Align::kRight}, {"other", Align::kRight}, {"storage", Align::kRight}, {"transfer", Align::kRight},
               {"shared", Align::kRight}, {"of it idle", Align::kRight}});
  for (const ClientSpend& c : report.clients)
    table.add_row({c.client.empty() ? "(nobody in particular)" : c.client, amount(c.total), amount(c.training), amount(c.inference),
                   amount(c.evaluation), amount(c.other_compute), amount(c.storage), amount(c.transfer), amount(c.shared), amount(c.inactive)});
  return table.empty() ? "" : heading("Bill by client, a month", colour) + table.render(colour, 2);
}

std::string amounts_table(std::string_view title, const std::vector<NamedAmount>& amounts, Money whole, Colour colour) {
  Table table({{"what", Align::kLeft, 40}, {"a month", Align::kRight}, {"of the bill", Align::kRight}});
  for (const NamedAmount& a : amounts)
    table.add_row({a.name, amount(a.amount), whole.is_zero() ? "–" : percent(100 * a.amount.to_double() / whole.to_double(), 1)});
  return table.empty() ? "" : heading(title, colour) + table.render(colour, 2);
}

std::string details(const Finding& f, Colour colour) {
  std::string out = fmt::format("{}  {}\n\n", toned(f.id, Tone::kStrong, colour), printable(f.title));
  out += wrapped(printable(describe(f.change)), kWidth, 2);
  out += fmt::format("\n  Saves {} a month within the plan, {} alone. Confidence {}, risk {}, effort {}.\n", f.saving_per_month.to_text(),
                     f.alone_per_month.to_text(), name_of(f.confidence), name_of(f.risk), name_of(f.effort));
  if (!f.evidence.empty()) {
    Table table({{"evidence"}, {"", Align::kLeft, 70}});
    for (const Evidence& e : f.evidence) table.add_row({e.label, e.value});
    out += '\n' + table.render(colour, 2);
  }
  if (!f.arithmetic.empty()) out += heading("Arithmetic", colour) + bullets(f.arithmetic);
  if (!f.caveats.empty()) out += heading("Caveats", colour) + bullets(f.caveats);
  if (!f.apply.empty()) out += heading("Apply", colour);
  for (const std::string& command : f.apply) out += printable_lines(command) + "\n";
  return out;
}

}  // namespace

std::string audit_text(const AuditReport& report, Colour colour) {
  const Money bill = report.totals.bill_per_month;
  std::string out = headline(report, colour);
  out += heading("What to change first", colour);
  out += report.findings.empty() ? "  Nothing found that saves money and can be shown from these data.\n"
                                 : findings_table(report.findings, bill.currency().code(), colour);
  out += clients_table(report, colour);
  out += amounts_table("Idle money by cause", report.idle_causes, bill, colour);
  out += amounts_table("Spend by category", report.categories, bill, colour);
  out += low_nodes_table(report, colour);
  out += holders_table(report, colour);
  if (!report.out_of_reach.empty()) out += heading("Out of reach of this plan", colour) + bullets(report.out_of_reach);
  if (!report.notes.empty()) out += heading("Notes on the data", colour) + bullets(report.notes);
  if (!report.findings.empty())
    out += fmt::format("\nHow a finding was reached and how to apply it: --explain {}\n", report.findings.front().id);
  return out;
}

Result<std::string> explain_finding(const AuditReport& report, std::string_view id, Colour colour) {
  for (const std::vector<Finding>* list : {&report.findings, &report.rejected})
    for (const Finding& f : *list)
      if (f.id == id) return (list == &report.rejected ? "Considered, and not advised.\n\n" : "") + details(f, colour);
  std::vector<std::string> ids;
  for (const Finding& f : report.findings) ids.push_back(f.id);
  return make_error(ErrorCode::kNotFound, "no finding '{}' in this period; there are: {}", printable(id),
                    ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")));
}

}  // namespace stint
