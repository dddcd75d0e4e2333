// Who pays, what for, and what was idle.
#include "report/audit_charts.h"
#include "report/audit_sections.h"
#include "report/figures.h"

namespace stint {

namespace {

/// Client, total, one column a head anybody spent on, what of it was idle, use.
Html clients_table(const AuditReport& report) {
  const AmountText amount(report);
  const std::vector<SpendPart> parts = spend_parts(report);
  std::vector<Column> columns = {{"client"}, {"total", Align::kRight}};
  for (const SpendPart& part : parts)
    columns.push_back({std::string(part.name), Align::kRight});
  for (const char* heading : {"of it idle", "GPU-hours", "used"})
    columns.push_back({heading, Align::kRight});
  const auto cell = [&](Money m) { return m.is_zero() ? "–" : amount(m); };
  HtmlTable table(columns);
  Money sum = Money::nanos(0, report.totals.bill_per_month.currency());
  for (const ClientSpend& c : report.clients) {
    sum += c.total;
    std::vector<std::string> cells = {shown_client(c.client), amount(c.total)};
    for (const SpendPart& part : parts)
      cells.push_back(cell(c.*part.amount));
    cells.insert(cells.end(),
                 {cell(c.inactive), c.gpu_hours > 0 ? grouped(c.gpu_hours) : "–", percent_or_dash(c.mean_utilization_pct, 0)});
    table.add_text_row(cells);
  }
  std::vector<Html> total(columns.size());
  total[0] = Html::text("all");
  total[1] = Html::text(amount(sum));
  table.add_total_row(std::move(total));
  return table.render("Bill by client");
}

}  // namespace

Html clients_section(const AuditReport& report) {
  if (report.clients.empty()) return {};
  return section(
      "clients", "Bill by client",
      fmt::format(
          "Each line of the bill goes to the client that used it, common cost in proportion to GPU money. A month, in {}.",
          report.totals.bill_per_month.currency().code()),
      element("div", {{"class", "screen"}}, client_bars(report)) +
          disclosure(element("span", "Figures by client"), clients_table(report)));
}

Html idle_section(const AuditReport& report) {
  if (report.idle_causes.empty() && report.categories.empty()) return {};
  Html body;
  if (!report.idle_causes.empty())
    body += element("h3",
                    fmt::format("What is not used, by cause: {} in all", AmountText(report)(report.totals.not_used_per_month))) +
            amount_bars(report, report.idle_causes, "What is not used, by cause");
  if (!report.categories.empty())
    body += element("h3", "Spend by category") + amount_bars(report, report.categories, "Spend by category");
  return section("idle", "Idle money, and what the money is for",
                 fmt::format("A month, in {}, with the share of the bill. Not allocated: no job had the GPU. Allocated, but "
                             "idle: a job had it and no kernel ran. Active, but not filled: kernels ran, and left the rest of "
                             "the GPU unused. Stranded: free, but no job can get it.",
                             report.totals.bill_per_month.currency().code()),
                 body);
}

}  // namespace stint
