#include "codec/bills/budget_csv.h"

#include <array>
#include <set>

#include "codec/csv_table.h"

namespace stint {

Result<std::vector<ClientBudget>> read_budgets(std::string_view bytes, const std::string& source) {
  static constexpr std::array<std::string_view, 2> kRequired = {"client", "budget"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kRequired));
  std::vector<ClientBudget> rows;
  std::set<std::pair<std::string, int64_t>> seen;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    ClientBudget row;
    row.line = table.line();
    row.client = table.text("client");
    if (row.client.empty()) return table.wrong("no client; * is the whole bill");
    if (const std::string_view text = table.text("month"); !text.empty()) {
      const auto month = parse_month(text);
      if (!month.ok()) return table.wrong("month '{}': write it as 2026-10, or leave it empty for every month", excerpt(text));
      row.month = *month;
    }
    Currency currency;
    if (const std::string_view code = table.text("currency"); !code.empty()) {
      const auto parsed = Currency::parse(code);
      if (!parsed.ok()) return table.wrong("{}", parsed.error().message);
      currency = *parsed;
    }
    const auto budget = Money::parse(table.text("budget"), currency);
    if (!budget.ok() || budget->count_nanos() <= 0)
      return table.wrong("budget '{}' is no amount above zero", excerpt(table.text("budget")));
    row.budget = *budget;
    if (!seen.insert({row.client, row.month ? row.month->begin.ns() : -1}).second)
      return table.wrong("client '{}' has a budget of {} already", excerpt(row.client), row.month ? "this month" : "every month");
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return invalid("{}: no budget in it", source);
  return rows;
}

}  // namespace stint
