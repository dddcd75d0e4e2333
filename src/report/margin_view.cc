#include "report/margin_view.h"

#include <nlohmann/json.hpp>

#include "report/csv_text.h"
#include "report/figures.h"
#include "report/json_list.h"
#include "report/statement_text.h"

namespace stint {
namespace {

std::string percent_or_none(std::optional<double> percent) { return percent ? fmt::format("{:.1f}", *percent) : "–"; }
std::string client_of(const MarginRow& row) { return row.client.empty() ? "(not attributed)" : row.client; }

}  // namespace

std::string margin_text(const Margin& m, Screen screen) {
  const bool projects = m.by == TenantDimension::kProject;
  std::vector<Column> columns = {{"client", Align::kLeft, 40}};
  if (projects) columns.push_back({"project", Align::kLeft, 40});
  for (const auto& [heading, spare] :
       {std::pair("revenue", 0), {"cost", 0}, {"profit", 0}, {"margin %", 0}, {"budget", 2}, {"of budget %", 1}})
    columns.push_back({heading, Align::kRight, 0, spare});
  Table table(std::move(columns));
  const auto add = [&](std::vector<std::string> names, const MarginRow& row, Tone tone) {
    names.insert(names.end(),
                 {cents_or_dash(row.revenue), cents_text(row.cost), cents_or_dash(row.profit()),
                  percent_or_none(row.margin_pct()), cents_or_dash(row.cost_budget), percent_or_none(row.budget_pct())});
    table.add_row(std::move(names), tone);
  };
  for (const MarginRow& row : m.rows) {
    std::vector<std::string> names = {client_of(row)};
    if (projects) names.push_back(row.project.empty() ? "–" : row.project);
    const bool loses = row.profit() && row.profit()->count_nanos() < 0;
    add(std::move(names), row, loses ? Tone::kBad : row.client.empty() ? Tone::kMuted : Tone::kPlain);
  }
  const auto plain = [&](std::string name) {
    std::vector<std::string> names = {std::move(name)};
    if (projects) names.emplace_back();
    return names;
  };
  if (!m.unallocated.is_zero())
    add(plain("idle, of no client"), {.client = {}, .project = {}, .revenue = {}, .cost = m.unallocated, .cost_budget = {}},
        Tone::kMuted);
  table.add_rule();
  const MarginRow total{.client = {}, .project = {}, .revenue = m.revenue, .cost = m.cost, .cost_budget = {}};
  add(plain("total"), total, Tone::kStrong);
  std::string out =
      fmt::format("Margin by {}, {}, {}, {}\n\n", name_of(m.by), describe(m.period), describe(m.basis), m.cost.currency().code());
  out += toned(
      fmt::format("{} of revenue, {} of cost: {} of profit", m.revenue.to_text(), m.cost.to_text(), total.profit()->to_text()),
      Tone::kStrong, screen);
  out += total.margin_pct() ? fmt::format(", a margin of {:.1f} %.\n\n", *total.margin_pct()) : ".\n\n";
  return fitted(out + table.render(screen), screen);
}

std::string margin_json(const Margin& m) {
  nlohmann::ordered_json out;
  out["period"] = {{"since", format_utc(m.period.begin)}, {"until", format_utc(m.period.end)}};
  out["by"] = name_of(m.by);
  out["basis"] = name_of(m.basis);
  out["currency"] = m.cost.currency().code();
  out["revenue"] = m.revenue.to_decimal();
  out["cost"] = m.cost.to_decimal();
  out["profit"] = (m.revenue - m.cost).to_decimal();
  out["unallocated"] = m.unallocated.to_decimal();
  out["rows"] = nlohmann::ordered_json::array();
  for (const MarginRow& row : m.rows)
    out["rows"].push_back({{"client", row.client},
                           {"project", row.project},
                           {"revenue", decimal_json(row.revenue)},
                           {"cost", row.cost.to_decimal()},
                           {"profit", decimal_json(row.profit())},
                           {"margin_pct", or_null(row.margin_pct())},
                           {"budget", decimal_json(row.cost_budget)},
                           {"budget_pct", or_null(row.budget_pct())}});
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string margin_csv(const Margin& m) {
  const auto decimal = [](const std::optional<Money>& money) { return money ? money->to_decimal() : std::string(); };
  const auto percent = [](std::optional<double> p) { return p ? fmt::format("{:.4f}", *p) : std::string(); };
  std::string out = "line,client,project,revenue,cost,profit,margin_pct,budget,budget_pct\n";
  const auto add = [&](std::string_view line, const MarginRow& row) {
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", line, csv_text(row.client), csv_text(row.project), decimal(row.revenue),
                       row.cost.to_decimal(), decimal(row.profit()), percent(row.margin_pct()), decimal(row.cost_budget),
                       percent(row.budget_pct()));
  };
  for (const MarginRow& row : m.rows)
    add("tenant", row);
  if (!m.unallocated.is_zero())
    add("idle", {.client = {}, .project = {}, .revenue = {}, .cost = m.unallocated, .cost_budget = {}});
  add("total", {.client = {}, .project = {}, .revenue = m.revenue, .cost = m.cost, .cost_budget = {}});
  return out;
}

}  // namespace stint
