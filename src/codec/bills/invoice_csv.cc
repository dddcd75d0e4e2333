#include "codec/bills/invoice_csv.h"

#include <array>

#include "codec/csv_table.h"

namespace stint {

Result<std::vector<InvoiceTotal>> read_invoices(std::string_view bytes, const std::string& source) {
  static constexpr std::array<std::string_view, 4> kRequired = {"provider", "account", "month", "total"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kRequired));
  std::vector<InvoiceTotal> totals;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    InvoiceTotal t;
    t.line = table.line();
    if (table.text("provider").empty()) return table.wrong("no provider");
    t.provider = canonical_provider(table.text("provider"));
    t.account = table.text("account");
    t.invoice = table.text("invoice");
    const auto month = parse_month(table.text("month"));
    if (!month.ok()) return table.wrong("month '{}': write it as 2026-10", excerpt(table.text("month")));
    t.month = *month;
    Currency currency;
    if (const std::string_view code = table.text("currency"); !code.empty()) {
      const auto parsed = Currency::parse(code);
      if (!parsed.ok()) return table.wrong("{}", parsed.error().message);
      currency = *parsed;
    }
    const auto total = Money::parse(table.text("total"), currency);
    if (!total.ok()) return table.wrong("total '{}' is no amount", excerpt(table.text("total")));
    t.total = *total;
    totals.push_back(std::move(t));
  }
  if (totals.empty()) return invalid("{}: no invoice in it", source);
  return totals;
}

}  // namespace stint
