// Who pays, what for, and what nobody used.
#include "report/audit_charts.h"
#include "report/audit_sections.h"
#include "report/figures.h"

namespace stint {

Html clients_section(const AuditReport& report) {
  if (report.clients.empty()) return {};
  const AmountText amount(report);
  HtmlTable table({{"client"}, {"total", Align::kRight}, {"training", Align::kRight}, {"inference", Align::kRight}, {"evaluation", Align::kRight},
                   {"other compute", Align::kRight}, {"storage", Align::kRight}, {"transfer", Align::kRight}, {"common cost", Align::kRight},
                   {"of it held but idle", Align::kRight}, {"GPU-hours", Align::kRight}, {"used", Align::kRight}});
  Money sum = Money::nanos(0, report.totals.bill_per_month.currency());
  for (const ClientSpend& c : report.clients) {
    sum += c.total;
    table.add_text_row({shown_client(c.client), amount(c.total), amount(c.training), amount(c.inference), amount(c.evaluation), amount(c.other_compute),
                        amount(c.storage), amount(c.transfer), amount(c.shared), amount(c.inactive), grouped(c.gpu_hours),
                        c.gpu_hours > 0 ? shown_percent(c.mean_utilization_pct) : "–"});
  }
  std::vector<Html> total(12);
  total[0] = Html::text("all");
  total[1] = Html::text(amount(sum));
  table.add_total_row(std::move(total));
  return section("clients", "Bill by client",
                 fmt::format("Every line of the bill, to whoever used it; common cost in proportion to GPU money. A month, in {}.",
                             report.totals.bill_per_month.currency().code()),
                 client_bars(report) + table.render("Bill by client"));
}

Html idle_section(const AuditReport& report) {
  if (report.idle_causes.empty() && report.categories.empty()) return {};
  Html body;
  if (!report.idle_causes.empty()) body += element("h3", "Idle money by cause") + amount_bars(report, report.idle_causes, "Idle money by cause");
  if (!report.categories.empty()) body += element("h3", "Spend by category") + amount_bars(report, report.categories, "Spend by category");
  return section("idle", "Idle money, and what the money is for",
                 fmt::format("A month, in {}, with the share of the bill. Held, but idle: somebody had the GPU and no kernel ran. "
                             "Stranded: free, but impossible to give out.",
                             report.totals.bill_per_month.currency().code()),
                 body);
}

}  // namespace stint
