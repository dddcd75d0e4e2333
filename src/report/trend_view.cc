#include "report/trend_view.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "report/anomalies_view.h"
#include "report/csv_text.h"
#include "report/figures.h"
#include "report/json_list.h"
#include "report/statement_text.h"

namespace stint {
namespace {

struct ShownReason {
  std::string_view name;     // in JSON and CSV
  std::string_view heading;  // for people
  Money CostReasons::* amount;
};
constexpr std::array<ShownReason, 6> kShownReasons = {{{"price", "price", &CostReasons::price},
                                                       {"use", "use", &CostReasons::use},
                                                       {"mix", "mix", &CostReasons::mix},
                                                       {"new", "new", &CostReasons::begun},
                                                       {"gone", "gone", &CostReasons::gone},
                                                       {"unmeasured", "unmeasured", &CostReasons::unmeasured}}};

/// Cells beyond these are in the JSON.
constexpr size_t kMostShownCells = 10;

/// Less than half a cent is rounding of the rates.
constexpr int64_t kHalfACent = 5'000'000;

std::string signed_cents(Money m) { return m.count_nanos() > kHalfACent ? "+" + cents_text(m) : cents_text(m); }
std::string signed_or_blank(Money m) { return std::abs(m.count_nanos()) <= kHalfACent ? "" : signed_cents(m); }

std::string_view dimension_name(ChangeRowsBy by) { return by.tenant ? name_of(*by.tenant) : "service"; }

std::string shown_row_name(const CostChangeRow& row, ChangeRowsBy by) {
  if (row.idle) return "idle, of no client";
  if (!row.name.empty()) return row.name;
  return by.tenant ? "(not attributed)" : "(no service)";
}

std::string change_table(const CostChange& c, Screen screen) {
  std::vector<Column> columns = {{std::string(dimension_name(c.by)), Align::kLeft, 40},
                                 {"before", Align::kRight, 0, 2},
                                 {"after", Align::kRight, 0, 1},
                                 {"difference", Align::kRight}};
  for (const ShownReason& reason : kShownReasons)
    columns.push_back({std::string(reason.heading), Align::kRight, 0, 0});
  Table table(std::move(columns));
  const auto add = [&](const CostChangeRow& row, std::string name, Tone tone) {
    std::vector<std::string> cells = {std::move(name), cents_text(row.before), cents_text(row.after),
                                      signed_cents(row.after - row.before)};
    for (const ShownReason& reason : kShownReasons)
      cells.push_back(signed_or_blank(row.reasons.*reason.amount));
    table.add_row(std::move(cells), tone);
  };
  for (const CostChangeRow& row : c.rows)
    add(row, shown_row_name(row, c.by), row.idle ? Tone::kMuted : Tone::kPlain);
  table.add_rule();
  add(c.total, "total", Tone::kStrong);
  return table.render(screen);
}

std::string cell_name(const CostCell& cell) {
  std::string out = cell.what.empty() ? cell.service : cell.what;
  if (out.empty()) out = std::string(name_of(cell.spend));
  for (const std::string& part : {cell.region, cell.market == Market::kUnknown ? "" : std::string(name_of(cell.market))})
    if (!part.empty()) out += ", " + part;
  return out;
}

std::string quantity_text(int64_t micro) { return amount_text(Money::nanos(micro * 1000), 1); }
std::string unit_price_text(const std::optional<double>& price) { return price ? fmt::format("{:.4f}", *price) : "–"; }

/// What changed most, over all rows.
std::string cells_table(const CostChange& c, Screen screen) {
  std::vector<std::pair<const CostChangeRow*, const CostCell*>> cells;
  for (const CostChangeRow& row : c.rows)
    for (const CostCell& cell : row.cells)
      if (cell.before != cell.after) cells.emplace_back(&row, &cell);
  std::ranges::stable_sort(cells, std::ranges::greater(),
                           [](const auto& cell) { return std::abs((cell.second->after - cell.second->before).count_nanos()); });
  cells.resize(std::min(cells.size(), kMostShownCells));
  if (cells.empty()) return "";
  Table table({{std::string(dimension_name(c.by)), Align::kLeft, 24},
               {"what changed most", Align::kLeft, 40},
               {"difference", Align::kRight},
               {"unit", Align::kLeft, 0, 3},
               {"before", Align::kRight, 0, 1},
               {"after", Align::kRight, 0, 1},
               {"price before", Align::kRight, 0, 2},
               {"price after", Align::kRight, 0, 2}});
  for (const auto& [row, cell] : cells)
    table.add_row({shown_row_name(*row, c.by), cell_name(*cell), signed_cents(cell->after - cell->before), cell->unit,
                   cell->unit.empty() ? "" : quantity_text(cell->micro_before),
                   cell->unit.empty() ? "" : quantity_text(cell->micro_after),
                   cell->unit.empty() ? "" : unit_price_text(cell->unit_price_before()),
                   cell->unit.empty() ? "" : unit_price_text(cell->unit_price_after())});
  return "\n" + table.render(screen);
}

nlohmann::ordered_json reasons_json(const CostReasons& reasons) {
  nlohmann::ordered_json out;
  for (const ShownReason& reason : kShownReasons)
    out[reason.name] = (reasons.*reason.amount).to_decimal();
  return out;
}

nlohmann::ordered_json period_json(Interval period) {
  return {{"since", format_utc(period.begin)}, {"until", format_utc(period.end)}};
}

nlohmann::ordered_json quantity_json(const CostCell& cell, int64_t micro) {
  return cell.unit.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(static_cast<double>(micro) / 1e6);
}

nlohmann::ordered_json change_row_json(const CostChangeRow& row) {
  nlohmann::ordered_json out = {{"name", row.name},
                                {"idle", row.idle},
                                {"before", row.before.to_decimal()},
                                {"after", row.after.to_decimal()},
                                {"difference", (row.after - row.before).to_decimal()},
                                {"reasons", reasons_json(row.reasons)}};
  out["cells"] = array_of(row.cells, [](const CostCell& cell) {
    return nlohmann::ordered_json{{"spend", name_of(cell.spend)},
                                  {"provider", cell.provider},
                                  {"service", cell.service},
                                  {"region", cell.region},
                                  {"what", cell.what},
                                  {"market", name_of(cell.market)},
                                  {"unit", cell.unit},
                                  {"before", cell.before.to_decimal()},
                                  {"after", cell.after.to_decimal()},
                                  {"quantity_before", quantity_json(cell, cell.micro_before)},
                                  {"quantity_after", quantity_json(cell, cell.micro_after)},
                                  {"unit_price_before", or_null(cell.unit_price_before())},
                                  {"unit_price_after", or_null(cell.unit_price_after())}};
  });
  return out;
}

}  // namespace

std::string trend_text(const Trend& t, Screen screen) {
  const CostChange& c = t.change;
  const Money difference = c.total.after - c.total.before;
  std::string out = fmt::format("Cost by {}, {} against {}, {}, {}\n\n", dimension_name(c.by), describe(c.after),
                                describe(c.before), describe(c.basis), c.total.after.currency().code());
  out += toned(difference.is_zero() ? "It cost as much"
                                    : fmt::format("{} {}", (difference.count_nanos() > 0 ? difference : -difference).to_text(),
                                                  difference.count_nanos() > 0 ? "more" : "less"),
               Tone::kStrong, screen);
  out += fmt::format(": {} after {}.\n\n", c.total.after.to_text(), c.total.before.to_text());
  for (const std::string& note : t.notes)
    out += note + "\n";
  if (!t.notes.empty()) out += "\n";
  out += change_table(c, screen);
  out += "\nprice: the same hours at another rate; use: more or fewer hours; mix: dearer or cheaper machines among them;\n";
  out +=
      "unmeasured: lines without a quantity, such as tax, credits and shares of common cost. The reasons sum to the "
      "difference.\n";
  out += cells_table(c, screen);
  out += "\n" + toned("Anomalies", Tone::kStrong, screen) + "\n" + anomalies_text(t.anomalies, c.total.after.currency(), screen);
  return fitted(out, screen);
}

std::string trend_json(const Trend& t) {
  const CostChange& c = t.change;
  nlohmann::ordered_json out;
  out["period"] = period_json(c.after);
  out["against"] = period_json(c.before);
  out["by"] = dimension_name(c.by);
  out["basis"] = name_of(c.basis);
  out["currency"] = c.total.after.currency().code();
  out["before"] = c.total.before.to_decimal();
  out["after"] = c.total.after.to_decimal();
  out["difference"] = (c.total.after - c.total.before).to_decimal();
  out["reasons"] = reasons_json(c.total.reasons);
  out["rows"] = array_of(c.rows, change_row_json);
  out["anomalies"] = {{"threshold", t.anomalies.judged_by.threshold},
                      {"least_amount", t.anomalies.judged_by.least_amount.to_decimal()},
                      {"weeks", t.anomalies.judged_by.weeks},
                      {"fewest_weeks", t.anomalies.judged_by.fewest_weeks},
                      {"series", t.anomalies.series},
                      {"judged", t.anomalies.judged},
                      {"undated", t.anomalies.undated.to_decimal()}};
  out["anomalies"]["found"] = array_of(t.anomalies.anomalies, [](const CostAnomaly& a) {
    return nlohmann::ordered_json{{"client", a.client},
                                  {"idle", a.idle},
                                  {"provider", a.provider},
                                  {"service", a.service},
                                  {"first_day", format_date(a.first_day)},
                                  {"days", a.days},
                                  {"cost", a.cost.to_decimal()},
                                  {"expected", a.expected.to_decimal()},
                                  {"excess", a.excess().to_decimal()},
                                  {"deviations", a.score}};
  });
  out["notes"] = t.notes;
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string trend_csv(const Trend& t) {
  std::string out = "line,name,before,after,difference";
  for (const ShownReason& reason : kShownReasons)
    out += fmt::format(",{}", reason.name);
  out += '\n';
  const auto add = [&](std::string_view line, const CostChangeRow& row) {
    out += fmt::format("{},{},{},{},{}", line, csv_text(row.name), row.before.to_decimal(), row.after.to_decimal(),
                       (row.after - row.before).to_decimal());
    for (const ShownReason& reason : kShownReasons)
      out += "," + (row.reasons.*reason.amount).to_decimal();
    out += '\n';
  };
  for (const CostChangeRow& row : t.change.rows)
    add(row.idle ? "idle" : t.change.by.tenant ? "tenant" : "service", row);
  CostChangeRow total = t.change.total;
  total.name = "";
  add("total", total);
  return out;
}

}  // namespace stint
