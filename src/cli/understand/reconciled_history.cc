#include "cli/understand/reconciled_history.h"

#include "codec/bills/invoice_csv.h"
#include "host/file.h"
#include "store/history_file.h"

namespace stint {

Result<Reconciliation> reconcile_history(const std::string& history, const std::string& invoices, Interval period) {
  std::vector<InvoiceTotal> totals;
  if (!invoices.empty()) {
    TRY_ASSIGN(const std::string bytes, read_all(invoices));
    TRY_ASSIGN(totals, read_invoices(bytes, invoices));
    if (!period.empty()) std::erase_if(totals, [&](const InvoiceTotal& t) { return !period.contains(t.month.begin); });
  }
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(history, OpenMode::kReadOnly));
  TRY_ASSIGN(const std::vector<BillLine> lines, file.load_billed_in(period));
  auto made = reconcile(lines, totals);
  if (!made.ok() && !invoices.empty()) return invalid("{}: {}", invoices, made.error().message);
  return made;
}

}  // namespace stint
