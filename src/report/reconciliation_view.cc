#include "report/reconciliation_view.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "report/csv_text.h"
#include "report/figures.h"
#include "report/statement_text.h"

namespace stint {
namespace {

struct InvoiceAmount {
  std::string_view name;     // in JSON and CSV
  std::string_view heading;  // for people
  Money InvoiceRow::* field;
  int spare;
};

constexpr std::array<InvoiceAmount, 9> kInvoiceAmounts = {{
    {"usage", "usage", &InvoiceRow::usage, 3},
    {"purchases", "up front", &InvoiceRow::purchases, 3},
    {"credits", "credits", &InvoiceRow::credits, 3},
    {"tax", "tax", &InvoiceRow::tax, 3},
    {"corrections", "corrections", &InvoiceRow::corrections, 3},
    {"imported", "imported", &InvoiceRow::imported, 0},
    {"fees_spread", "− spread", &InvoiceRow::fees_spread, 2},
    {"fees_used", "+ used", &InvoiceRow::fees_used, 2},
    {"effective", "amortised", &InvoiceRow::effective, 1},
}};

std::string month_text(const InvoiceRow& row) { return format_date(row.month.begin).substr(0, 7); }

/// The two figures that an invoice adds stand behind what was imported.
constexpr std::string_view kInvoicedAfter = "imported";

std::string invoice_verdict(const Reconciliation& r) {
  if (r.rows.empty()) return "No bill of these months is imported.";
  if (r.given() == 0) return "No invoice totals are given: --invoices FILE sets them beside what was imported.";
  if (r.differing() == 0 && r.given() == r.rows.size())
    return fmt::format("{}: what was imported sums to {} to the cent.", counted(r.given(), "invoice"),
                       r.given() == 1 ? "it" : "each");
  std::string out =
      fmt::format("{} of {} {} not match.", r.differing(), counted(r.given(), "invoice"), r.differing() == 1 ? "does" : "do");
  if (const size_t without = r.rows.size() - r.given(); without > 0)
    out += fmt::format(" {} no invoice total.", without == 1 ? "1 row has" : fmt::format("{} rows have", without));
  return out;
}

}  // namespace

std::string reconciliation_text(const Reconciliation& r, Interval period, Screen screen) {
  std::string out = fmt::format("Invoices and imported bills{}\n\n", period.empty() ? "" : ", billed " + describe(period));
  out += toned(invoice_verdict(r), r.differing() > 0 ? Tone::kBad : Tone::kStrong, screen) + "\n\n";
  if (r.rows.empty()) return fitted(out, screen);
  std::vector<const InvoiceAmount*> used;
  for (const InvoiceAmount& amount : kInvoiceAmounts)
    if (amount.spare == 0 || std::ranges::any_of(r.rows, [&](const InvoiceRow& row) { return !(row.*amount.field).is_zero(); }))
      used.push_back(&amount);
  const bool by_invoice = std::ranges::any_of(r.rows, [](const InvoiceRow& row) { return !row.invoice.empty(); });
  std::vector<Column> columns = {{"provider"}, {"account", Align::kLeft, 30}, {"month"}};
  if (by_invoice) columns.push_back({"invoice", Align::kLeft, 20});
  columns.push_back({"currency", Align::kLeft, 0, 1});
  for (const InvoiceAmount* amount : used) {
    columns.push_back({std::string(amount->heading), Align::kRight, 0, amount->spare});
    if (amount->name == kInvoicedAfter) {
      columns.push_back({"invoice total", Align::kRight});
      columns.push_back({"difference", Align::kRight});
    }
  }
  Table table(std::move(columns));
  for (const InvoiceRow& row : r.rows) {
    std::vector<std::string> cells = {row.provider, row.account.empty() ? "–" : row.account, month_text(row)};
    if (by_invoice) cells.push_back(row.invoice.empty() ? "–" : row.invoice);
    cells.emplace_back(row.imported.currency().code());
    for (const InvoiceAmount* amount : used) {
      cells.push_back(cents_text(row.*amount->field));
      if (amount->name == kInvoicedAfter) {
        cells.push_back(cents_or_dash(row.invoiced));
        cells.push_back(cents_or_dash(row.difference()));
      }
    }
    table.add_row(std::move(cells), row.invoiced && !row.matches() ? Tone::kBad : Tone::kPlain);
  }
  out += table.render(screen);
  return fitted(out, screen);
}

std::string reconciliation_json(const Reconciliation& r) {
  nlohmann::ordered_json out;
  out["invoices"] = r.given();
  out["differing"] = r.differing();
  out["rows"] = nlohmann::ordered_json::array();
  for (const InvoiceRow& row : r.rows) {
    nlohmann::ordered_json one = {{"provider", row.provider},
                                  {"account", row.account},
                                  {"month", month_text(row)},
                                  {"invoice", row.invoice},
                                  {"currency", row.imported.currency().code()},
                                  {"lines", row.lines}};
    for (const InvoiceAmount& amount : kInvoiceAmounts)
      one[std::string(amount.name)] = (row.*amount.field).to_decimal();
    one["invoiced"] = decimal_json(row.invoiced);
    one["difference"] = decimal_json(row.difference());
    one["matches"] = row.invoiced ? nlohmann::ordered_json(row.matches()) : nlohmann::ordered_json(nullptr);
    out["rows"].push_back(std::move(one));
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string reconciliation_csv(const Reconciliation& r) {
  std::string out = "provider,account,month,invoice,currency,lines";
  for (const InvoiceAmount& amount : kInvoiceAmounts)
    out += fmt::format(",{}", amount.name);
  out += ",invoiced,difference\n";
  for (const InvoiceRow& row : r.rows) {
    out += fmt::format("{},{},{},{},{},{}", csv_text(row.provider), csv_text(row.account), month_text(row), csv_text(row.invoice),
                       row.imported.currency().code(), row.lines);
    for (const InvoiceAmount& amount : kInvoiceAmounts)
      out += fmt::format(",{}", (row.*amount.field).to_decimal());
    out += fmt::format(",{},{}\n", row.invoiced ? row.invoiced->to_decimal() : "",
                       row.invoiced ? row.difference()->to_decimal() : "");
  }
  return out;
}

}  // namespace stint
