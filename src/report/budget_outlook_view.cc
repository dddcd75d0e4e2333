#include "report/budget_outlook_view.h"

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "report/figures.h"
#include "report/json_list.h"
#include "report/statement_text.h"

namespace stint {
namespace {

Tone tone_of(BudgetVerdict v) {
  switch (v) {
    case BudgetVerdict::kExceeded:
    case BudgetVerdict::kWillExceed: return Tone::kBad;
    case BudgetVerdict::kAtRisk: return Tone::kWarn;
    case BudgetVerdict::kWithin: return Tone::kGood;
    case BudgetVerdict::kNotKnown: break;
  }
  return Tone::kMuted;
}

std::string outlook_verdict(const BudgetOutlook& o) {
  const size_t exceeded = static_cast<size_t>(std::ranges::count(o.rows, BudgetVerdict::kExceeded, &BudgetRow::verdict));
  if (o.over() == 0) return fmt::format("None of {} is exceeded or expected to be.", counted(o.rows.size(), "budget"));
  return fmt::format("Of {}, {} exceeded and {} expected to be.", counted(o.rows.size(), "budget"), exceeded,
                     o.over() - exceeded);
}

std::string as_of_text(const BudgetOutlook& o) {
  if (!o.as_of) return "The bill has no daily or hourly lines, so there is no forecast.";
  if (*o.as_of >= o.month.end) return "The bill covers the month.";
  return fmt::format("The bill covers days to {}.", format_date(*o.as_of - Duration::nanoseconds(1)));
}

}  // namespace

std::string budget_outlook_text(const BudgetOutlook& o, const std::vector<std::string>& notes, Screen screen) {
  std::string out =
      fmt::format("Budgets, {}, {}, {}\n\n", describe(o.month), describe(o.basis), o.without_budget.currency().code());
  out += toned(outlook_verdict(o), o.over() > 0 ? Tone::kBad : Tone::kStrong, screen) + " " + as_of_text(o) + "\n\n";
  for (const std::string& note : notes)
    out += note + "\n";
  if (!notes.empty()) out += "\n";
  Table table({{"client", Align::kLeft, 32},
               {"budget", Align::kRight},
               {"spent", Align::kRight},
               {"%", Align::kRight, 0, 3},
               {"a day", Align::kRight, 0, 2},
               {"month's end", Align::kRight},
               {"80 % between", Align::kRight, 0, 1},
               {"used up on", Align::kLeft, 0, 1},
               {"verdict", Align::kLeft}});
  for (const BudgetRow& row : o.rows) {
    table.add_row({row.client == kWholeBill ? "whole bill, with idle" : row.client, cents_text(row.budget), cents_text(row.spent),
                   fmt::format("{:.1f}", row.used_pct()), cents_or_dash(row.per_day),
                   row.end ? cents_text(row.end->expected) : "–",
                   row.end ? fmt::format("{} and {}", amount_text(row.end->low), amount_text(row.end->high)) : "–",
                   row.runs_out ? format_date(*row.runs_out) : "–", std::string(name_of(row.verdict))});
    table.tone_cell(8, tone_of(row.verdict));
  }
  out += table.render(screen);
  if (!o.without_budget.is_zero() && std::ranges::none_of(o.rows, [](const BudgetRow& row) { return row.client == kWholeBill; }))
    out += fmt::format("\n{} of clients without a budget, and of none, are in no row.\n", o.without_budget.to_text());
  return fitted(out, screen);
}

std::string budget_outlook_json(const BudgetOutlook& o, const std::vector<std::string>& notes) {
  nlohmann::ordered_json out;
  out["month"] = format_date(o.month.begin).substr(0, 7);
  out["basis"] = name_of(o.basis);
  out["currency"] = o.without_budget.currency().code();
  out["as_of"] = o.as_of ? nlohmann::ordered_json(format_utc(*o.as_of)) : nlohmann::ordered_json();
  out["over"] = o.over();
  out["rows"] = array_of(o.rows, [](const BudgetRow& row) {
    nlohmann::ordered_json one = {{"client", row.client},
                                  {"budget", row.budget.to_decimal()},
                                  {"spent", row.spent.to_decimal()},
                                  {"used_pct", row.used_pct()},
                                  {"per_day", decimal_json(row.per_day)},
                                  {"month_end", nlohmann::ordered_json()},
                                  {"runs_out", nlohmann::ordered_json()},
                                  {"verdict", name_of(row.verdict)}};
    if (row.end)
      one["month_end"] = {
          {"expected", row.end->expected.to_decimal()}, {"low", row.end->low.to_decimal()}, {"high", row.end->high.to_decimal()}};
    if (row.runs_out) one["runs_out"] = format_date(*row.runs_out);
    return one;
  });
  out["without_budget"] = o.without_budget.to_decimal();
  out["notes"] = notes;
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace stint
