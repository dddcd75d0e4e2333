#include "report/client_statement_html.h"

#include <vector>

#include "report/figures.h"
#include "report/html.h"
#include "report/statement_text.h"

namespace stint {
namespace {

std::string or_dash(const std::optional<Money>& m) { return m ? m->to_text() : "–"; }
/// "17,086.1".
std::string gpu_hours_text(double hours) { return amount_text(Money::estimate(hours), 1); }
std::string cents_or_dash(Money m) { return m.is_zero() ? "–" : cents_text(m); }

Html what_for(const CostStatement& s, std::string_view id, std::string_view title) {
  HtmlTable table({{s.heading, Align::kLeft},
                   {"training", Align::kRight},
                   {"inference", Align::kRight},
                   {"other compute", Align::kRight},
                   {"storage, transfer", Align::kRight},
                   {"common cost", Align::kRight},
                   {"total", Align::kRight},
                   {"GPU-hours", Align::kRight},
                   {"active", Align::kRight},
                   {"per active GPU-hour", Align::kRight}});
  const auto cells = [](const StatementRow& row) {
    return std::vector<Html>{Html::text(shown_name(row)),
                             Html::text(cents_or_dash(row.training)),
                             Html::text(cents_or_dash(row.inference)),
                             Html::text(cents_or_dash(row.evaluation + row.other_compute)),
                             Html::text(cents_or_dash(row.storage + row.transfer + row.other)),
                             Html::text(cents_or_dash(row.shared)),
                             Html::text(cents_text(row.total)),
                             Html::text(gpu_hours_text(row.gpu_hours)),
                             Html::text(percent_or_dash(row.efficiency_pct())),
                             Html::text(or_dash(row.per_active_gpu_hour()))};
  };
  for (const StatementRow& row : s.rows)
    table.add_row(cells(row));
  table.add_total_row(cells(s.sum));
  return section(id, title, "", table.render(title));
}

Html machines_section(const ClientStatement& s) {
  HtmlTable table({{"machine", Align::kLeft}, {"where", Align::kLeft}, {"bought", Align::kLeft}, {"amount", Align::kRight}});
  Money sum = Money::nanos(0, s.total.currency());
  for (const MachineAmount& m : s.machines) {
    table.add_text_row({m.instance_type.empty() ? "not named by the bill" : m.instance_type,
                        m.region.empty() ? m.provider : m.provider + " " + m.region, std::string(name_of(m.market)),
                        cents_text(m.amount)});
    sum += m.amount;
  }
  table.add_total_row({Html::text("machines"), Html(), Html(), Html::text(cents_text(sum))});
  return section("machines", "Machines", "The part of each machine's cost that this client's work held.",
                 table.render("Machines"));
}

/// "12.3 %", of a whole that is not zero.
std::string part_text(const SharedCost& c) {
  if (c.whole.is_zero()) return "–";
  return fmt::format("{:.1f} %", 100 * c.own.to_double() / c.whole.to_double());
}

Html split_section(const ClientStatement& s) {
  HtmlTable table({{"shared by all", Align::kLeft},
                   {"in all", Align::kRight},
                   {"this client's part", Align::kRight},
                   {"amount", Align::kRight},
                   {"split by", Align::kLeft}});
  table.add_text_row({"Common cost: support, tax, services without an owner", cents_text(s.common.whole), part_text(s.common),
                      cents_text(s.common.own), "GPU money"});
  if (!s.idle.own.is_zero())
    table.add_text_row({"Idle machines", cents_text(s.idle.whole), part_text(s.idle), cents_text(s.idle.own), "GPU money"});
  return section("split", "How shared cost was split", "Each client pays for its own use, and its part of what all share.",
                 table.render("Shared cost"));
}

}  // namespace

std::string client_statement_html(const ClientStatement& s) {
  const StatementRow& sum = s.projects.sum;
  const std::vector<Card> figures = {
      {"Total", s.total.to_text(), std::string(describe(s.projects.basis)), Tone::kStrong},
      {"GPU-hours", gpu_hours_text(sum.gpu_hours), "held by this client's work", Tone::kPlain},
      {"Active", percent_or_dash(sum.efficiency_pct()), "of those with telemetry", Tone::kPlain},
      {"Per active GPU-hour", or_dash(sum.per_active_gpu_hour()), "machines only", Tone::kPlain},
  };
  Html body = cards(figures);
  const bool named = s.projects.rows.size() > 1 || (s.projects.rows.size() == 1 && !s.projects.rows.front().name.empty());
  if (named) body += what_for(s.projects, "projects", "By project");
  body += what_for(s.workloads, "workloads", "By workload");
  body += machines_section(s) + split_section(s);
  const std::string sums = s.idle.own.is_zero() ? fmt::format("Workloads sum to {}.", s.total.to_text())
                                                : fmt::format("Workloads sum to {}; with the part of idle machines {}.",
                                                              s.projects.total.to_text(), s.total.to_text());
  const std::string_view client = s.client.empty() ? "(not attributed)" : std::string_view(s.client);
  return html_page(
      {fmt::format("{}: GPU cost", client), "Statement",
       fmt::format("{}, {}, in {}", describe(s.projects.period), describe(s.projects.basis), s.total.currency().code()), sums},
      body);
}

}  // namespace stint
