#include "report/statement_text.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "report/csv_text.h"
#include "report/figures.h"
#include "report/short_text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct MoneyColumn {
  std::string_view name;     // in JSON and CSV
  std::string_view heading;  // for people
  Money StatementRow::* field;
};

constexpr std::array<MoneyColumn, 9> kMoneyColumns = {{
    {"training", "training", &StatementRow::training},
    {"inference", "inference", &StatementRow::inference},
    {"evaluation", "evaluation", &StatementRow::evaluation},
    {"other_compute", "other compute", &StatementRow::other_compute},
    {"storage", "storage", &StatementRow::storage},
    {"transfer", "transfer", &StatementRow::transfer},
    {"other", "other", &StatementRow::other},
    {"shared", "shared", &StatementRow::shared},
    {"idle", "idle share", &StatementRow::idle},
}};

std::string tenths_of_hours(double hours) { return hours == 0 ? "" : fmt::format("{:.1f}", hours); }
std::string percent_figure(std::optional<double> percent) { return percent ? fmt::format("{:.1f}", *percent) : "?"; }
std::string cents_or_blank(const std::optional<Money>& m) { return m ? cents_text(*m) : ""; }

std::vector<const MoneyColumn*> used_columns(const CostStatement& s) {
  std::vector<const MoneyColumn*> used;
  for (const MoneyColumn& c : kMoneyColumns)
    for (const StatementRow& row : s.rows)
      if (!(row.*c.field).is_zero()) {
        used.push_back(&c);
        break;
      }
  return used;
}

void add_row(Table& table, const StatementRow& row, const std::vector<const MoneyColumn*>& columns, Tone tone) {
  std::vector<std::string> cells = {shown_name(row)};
  for (const MoneyColumn* c : columns)
    cells.push_back(cents_text(row.*c->field));
  const bool has_gpus = row.gpu_hours > 0;
  cells.insert(cells.end(), {cents_text(row.total), cents_text(row.inactive), tenths_of_hours(row.gpu_hours),
                             has_gpus ? percent_figure(row.efficiency_pct()) : "", cents_or_blank(row.per_gpu_hour()),
                             cents_or_blank(row.per_active_gpu_hour())});
  table.add_row(std::move(cells), tone);
}

std::string idle_table(const CostStatement& s, Screen screen) {
  Table table({{"idle cause"},
               {s.idle_treatment == IdleTreatment::kSpread ? "left" : "amount", Align::kRight},
               {"GPU-h", Align::kRight}});
  for (const IdleAmount& idle : s.idle)
    table.add_row({std::string(name_of(idle.cause)), cents_text(idle.amount), tenths_of_hours(idle.gpu_hours)});
  table.add_rule();
  table.add_row({"idle", cents_text(s.idle_total), ""}, Tone::kStrong);
  return table.render(screen);
}

Json row_json(const StatementRow& row) {
  Json out;
  for (const MoneyColumn& c : kMoneyColumns)
    out[std::string(c.name)] = (row.*c.field).to_decimal();
  out["total"] = row.total.to_decimal();
  out["inactive"] = row.inactive.to_decimal();
  out["activity_unknown"] = row.activity_unknown.to_decimal();
  out["gpu_hours"] = row.gpu_hours;
  out["active_gpu_hours"] = row.active_gpu_hours;
  out["unknown_gpu_hours"] = row.unknown_gpu_hours;
  const auto put = [&](const char* name, const std::optional<Money>& m) {
    out[name] = m ? Json(m->to_decimal()) : Json(nullptr);
  };
  out["gpu_efficiency_pct"] = row.efficiency_pct() ? Json(*row.efficiency_pct()) : Json(nullptr);
  put("per_gpu_hour", row.per_gpu_hour());
  put("per_active_gpu_hour", row.per_active_gpu_hour());
  return out;
}

std::string csv_row(std::string_view kind, std::string_view name, const StatementRow& row) {
  std::string out = fmt::format("{},{}", kind, csv_text(name));
  for (const MoneyColumn& c : kMoneyColumns)
    out += ',' + (row.*c.field).to_decimal();
  const auto optional = [](const std::optional<Money>& m) { return m ? m->to_decimal() : std::string(); };
  const auto efficiency = row.efficiency_pct();
  return out + fmt::format(",{},{},{},{:.6f},{:.6f},{:.6f},{},{},{}\n", row.total.to_decimal(), row.inactive.to_decimal(),
                           row.activity_unknown.to_decimal(), row.gpu_hours, row.active_gpu_hours, row.unknown_gpu_hours,
                           efficiency ? fmt::format("{:.4f}", *efficiency) : "", optional(row.per_gpu_hour()),
                           optional(row.per_active_gpu_hour()));
}

}  // namespace

std::string_view describe(CostBasis basis) { return basis == CostBasis::kBilled ? "billed cost" : "effective (amortised) cost"; }

std::string describe(Interval period) {
  if (period.empty()) return "no period";
  return fmt::format("{} to {}", format_date(period.begin), format_date(period.end - Duration::nanoseconds(1)));
}

std::string shown_name(const StatementRow& row) { return row.name.empty() ? "(not attributed)" : row.name; }

std::string reconciliation(const Ledger& ledger) {
  Money sum = Money::nanos(0, ledger.total().currency());
  for (const Posting& p : ledger.postings)
    sum += p.amount;
  return fmt::format("postings sum to the bill: {} = {} ({}, {})", exact_money(sum), exact_money(ledger.total()),
                     counted(ledger.postings.size(), "posting"), counted(ledger.lines.size(), "bill line"));
}

std::string statement_table(const CostStatement& s, const Ledger& ledger, Screen screen) {
  const auto columns = used_columns(s);
  std::vector<Column> headings = {{s.heading, Align::kLeft, 40}};
  for (const MoneyColumn* c : columns)
    headings.push_back({std::string(c->heading), Align::kRight, 0, 4});
  const std::vector<Column> sums = {
      {"total", Align::kRight},          {"of it inactive", Align::kRight, 0, 1}, {"GPU-h held", Align::kRight, 0, 2},
      {"active %", Align::kRight, 0, 2}, {"per GPU-h", Align::kRight, 0, 5},      {"per active GPU-h", Align::kRight, 0, 3}};
  headings.insert(headings.end(), sums.begin(), sums.end());
  Table table(std::move(headings));
  for (const StatementRow& row : s.rows)
    add_row(table, row, columns, row.name.empty() ? Tone::kMuted : Tone::kPlain);
  table.add_rule();
  add_row(table, s.sum, columns, Tone::kStrong);

  std::string out =
      fmt::format("Bill by {}, {}, {}, {}\n\n", s.heading, describe(s.period), describe(s.basis), s.total.currency().code());
  const Money by_cause = s.idle_total + s.sum.idle;
  out += toned(fmt::format("{} in total, of it {} idle", s.total.to_text(2), (by_cause + s.sum.inactive).to_text(2)),
               Tone::kStrong, screen);
  out += fmt::format(": {} by the causes below, {} allocated but not used.\n", by_cause.to_text(2), s.sum.inactive.to_text(2));
  for (const std::string& line : coverage_lines(ledger))
    out += toned(line, Tone::kWarn, screen) + '\n';
  if (s.fleet_per_active_gpu_hour)
    out +=
        fmt::format("{} for each GPU-hour of work: all compute money, idle included.\n", s.fleet_per_active_gpu_hour->to_text(2));
  out += '\n' + table.render(screen);
  if (!s.idle.empty()) out += '\n' + idle_table(s, screen);
  return fitted(out + '\n' + reconciliation(ledger) + '\n', screen);
}

std::string statement_json(const CostStatement& s, const Ledger& ledger) {
  Json out;
  out["period"] = {{"since", format_utc(s.period.begin)}, {"until", format_utc(s.period.end)}};
  out["by"] = s.heading;
  out["basis"] = name_of(s.basis);
  out["idle_treatment"] = s.idle_treatment == IdleTreatment::kSpread ? "spread" : "separate";
  out["currency"] = s.total.currency().code();
  out["total"] = s.total.to_decimal();
  out["estimated"] = ledger.estimated_total().to_decimal();
  out["unpriced_gpu_hours"] = ledger.unpriced_gpu_hours;
  out["bill_covers"] = Json::array();
  for (const BillCoverage& c : ledger.coverage)
    out["bill_covers"].push_back(
        {{"provider", c.provider}, {"since", format_utc(c.charged.begin)}, {"until", format_utc(c.charged.end)}});
  out["rows"] = Json::array();
  for (const StatementRow& row : s.rows) {
    Json named = {{"name", row.name}};
    named.update(row_json(row));
    out["rows"].push_back(std::move(named));
  }
  out["sum"] = row_json(s.sum);
  out["idle_total"] = s.idle_total.to_decimal();
  out["idle"] = Json::array();
  for (const IdleAmount& idle : s.idle)
    out["idle"].push_back({{"cause", name_of(idle.cause)}, {"amount", idle.amount.to_decimal()}, {"gpu_hours", idle.gpu_hours}});
  out["fleet_per_active_gpu_hour"] =
      s.fleet_per_active_gpu_hour ? Json(s.fleet_per_active_gpu_hour->to_decimal()) : Json(nullptr);
  out["postings"] = ledger.postings.size();
  out["bill_lines"] = ledger.lines.size();
  out["problems"] = ledger.problems;
  // Names come from outside and need not be UTF-8.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string statement_csv(const CostStatement& s, const Ledger& ledger) {
  std::string out = fmt::format("line,{}", s.heading);
  for (const MoneyColumn& c : kMoneyColumns)
    out += fmt::format(",{}", c.name);
  out +=
      ",total,inactive,activity_unknown,gpu_hours,active_gpu_hours,unknown_gpu_hours,gpu_efficiency_pct,per_gpu_hour,per_active_"
      "gpu_hour\n";
  for (const StatementRow& row : s.rows)
    out += csv_row("tenant", row.name, row);
  const Money zero = Money::nanos(0, s.total.currency());
  for (const IdleAmount& idle : s.idle) {
    StatementRow row;
    for (const MoneyColumn& c : kMoneyColumns)
      row.*c.field = zero;
    row.inactive = row.activity_unknown = zero;
    row.total = idle.amount;
    row.gpu_hours = idle.gpu_hours;
    out += csv_row("idle", name_of(idle.cause), row);
  }
  if (const Money estimated = ledger.estimated_total(); !estimated.is_zero()) {
    StatementRow row;
    for (const MoneyColumn& c : kMoneyColumns)
      row.*c.field = zero;
    row.inactive = row.activity_unknown = zero;
    row.total = estimated;
    out += csv_row("estimated", "", row);
  }
  StatementRow total = s.sum;
  total.total = s.total;
  return out + csv_row("total", "", total);
}

}  // namespace stint
