#include "codec/bills/revenue_csv.h"

#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "codec/csv_table.h"

namespace stint {
namespace {

/// Sums of more are a mistake in the list, and beyond what Money holds.
constexpr double kMostUnits = 4e9;

}  // namespace

Result<std::vector<RevenueRow>> read_revenue(std::string_view bytes, const std::string& source) {
  static constexpr std::array<std::string_view, 3> kRequired = {"client", "month", "revenue"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kRequired));
  std::vector<RevenueRow> rows;
  std::set<std::tuple<std::string, std::string, int64_t>> seen;
  double sum = 0;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    RevenueRow row;
    row.line = table.line();
    row.client = table.text("client");
    row.project = table.text("project");
    if (row.client.empty()) return table.wrong("no client");
    const auto month = parse_month(table.text("month"));
    if (!month.ok()) return table.wrong("month '{}': write it as 2026-10", excerpt(table.text("month")));
    row.month = *month;
    Currency currency;
    if (const std::string_view code = table.text("currency"); !code.empty()) {
      const auto parsed = Currency::parse(code);
      if (!parsed.ok()) return table.wrong("{}", parsed.error().message);
      currency = *parsed;
    }
    const auto revenue = Money::parse(table.text("revenue"), currency);
    if (!revenue.ok()) return table.wrong("revenue '{}' is no amount", excerpt(table.text("revenue")));
    row.revenue = *revenue;
    if (const std::string_view text = table.text("budget"); !text.empty()) {
      const auto budget = Money::parse(text, currency);
      if (!budget.ok() || budget->count_nanos() < 0)
        return table.wrong("budget '{}' is no amount of zero or more", excerpt(text));
      row.cost_budget = *budget;
    }
    if (!seen.insert({row.client, row.project, row.month.begin.ns()}).second)
      return table.wrong("client '{}'{} has a row of this month already", excerpt(row.client),
                         row.project.empty() ? "" : fmt::format(", project '{}',", excerpt(row.project)));
    sum += std::abs(row.revenue.to_double()) + (row.cost_budget ? row.cost_budget->to_double() : 0);
    if (sum > kMostUnits) return table.wrong("the list sums to more than four billion");
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return invalid("{}: no row of revenue in it", source);
  return rows;
}

}  // namespace stint
