#include "report/statement_html.h"

#include <array>
#include <vector>

#include "report/figures.h"
#include "report/html.h"
#include "report/statement_text.h"

namespace stint {
namespace {

std::string money_cell(const std::optional<Money>& m) { return m ? m->to_text() : "–"; }
std::string percent_cell(std::optional<double> percent) { return percent ? fmt::format("{:.1f} %", *percent) : "–"; }

Html key_figures(const CostStatement& s) {
  const std::vector<Card> figures = {
      {"Total", s.total.to_text(), std::string(describe(s.basis)), Tone::kStrong},
      {"Idle", s.idle_total.to_text(), "by cause below", s.idle_total.is_zero() ? Tone::kPlain : Tone::kWarn},
      {"Allocated, but idle", s.sum.inactive.to_text(), "within the rows", Tone::kPlain},
      {"GPUs active", percent_cell(s.sum.efficiency_pct()), "of the GPU-hours held with telemetry", Tone::kPlain},
      {"Per active GPU-hour", money_cell(s.fleet_per_active_gpu_hour), "all compute money, idle included", Tone::kPlain},
  };
  return cards(figures);
}

Html money_section(const CostStatement& s) {
  std::vector<Column> columns = {{s.heading, Align::kLeft}};
  for (const char* heading :
       {"training", "inference", "evaluation", "other compute", "storage", "transfer", "other", "shared", "idle share", "total"})
    columns.push_back({heading, Align::kRight});
  HtmlTable table(std::move(columns));
  const auto cells = [](const StatementRow& row) {
    std::vector<Html> out = {Html::text(shown_name(row))};
    for (const Money m : {row.training, row.inference, row.evaluation, row.other_compute, row.storage, row.transfer, row.other,
                          row.shared, row.idle, row.total})
      out.push_back(Html::text(m.is_zero() ? "–" : cents_text(m)));
    return out;
  };
  for (const StatementRow& row : s.rows)
    table.add_row(cells(row));
  table.add_total_row(cells(s.sum));
  return section("money", fmt::format("Who pays, in {}", s.total.currency().code()),
                 "Common cost is shared in proportion to GPU money.", table.render("Money by tenant"));
}

Html use_section(const CostStatement& s) {
  HtmlTable table({{s.heading, Align::kLeft},
                   {"GPU-hours held", Align::kRight},
                   {"active", Align::kRight},
                   {"allocated, but idle", Align::kRight},
                   {"per GPU-hour held", Align::kRight},
                   {"per active GPU-hour", Align::kRight}});
  const auto cells = [](const StatementRow& row) {
    return std::vector<Html>{Html::text(shown_name(row)),
                             Html::text(fmt::format("{:.1f}", row.gpu_hours)),
                             Html::text(percent_cell(row.efficiency_pct())),
                             Html::text(row.inactive.to_text()),
                             Html::text(money_cell(row.per_gpu_hour())),
                             Html::text(money_cell(row.per_active_gpu_hour()))};
  };
  for (const StatementRow& row : s.rows)
    if (row.gpu_hours > 0) table.add_row(cells(row));
  table.add_total_row(cells(s.sum));
  return section("use", "What the GPUs did for it", "A slice of a GPU counts as its share of the card.",
                 table.render("Use by tenant"));
}

Html idle_section(const CostStatement& s) {
  HtmlTable table({{"cause", Align::kLeft}, {"amount", Align::kRight}, {"GPU-hours", Align::kRight}});
  for (const IdleAmount& idle : s.idle)
    table.add_text_row({std::string(name_of(idle.cause)), idle.amount.to_text(), fmt::format("{:.1f}", idle.gpu_hours)});
  table.add_total_row({Html::text("idle"), Html::text(s.idle_total.to_text()), Html()});
  const bool spread = s.idle_treatment == IdleTreatment::kSpread;
  return section("idle", "Idle money",
                 spread ? "Spread over the rows above in proportion to their compute money." : "Paid for, but not used.",
                 table.render("Idle money by cause"));
}

}  // namespace

std::string statement_html(const CostStatement& s, const Ledger& ledger) {
  Html body = key_figures(s);
  if (const auto lines = coverage_lines(ledger); !lines.empty())
    body += section("coverage", "What the bill covers", "Before you rely on the total.", bullet_list(lines));
  body += money_section(s) + use_section(s);
  if (!s.idle.empty()) body += idle_section(s);
  if (!ledger.problems.empty())
    body += section("problems", "What could not be priced or tied", "Each with its remedy.", bullet_list(ledger.problems));
  return html_page({fmt::format("GPU bill by {}", s.heading), "Statement",
                    fmt::format("{}, {}", describe(s.period), describe(s.basis)), reconciliation(ledger)},
                   body);
}

}  // namespace stint
