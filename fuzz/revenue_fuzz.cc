// Any bytes are a list of revenue, of invoice totals, of budgets, or an error.
#include <cstdint>

#include "codec/bills/budget_csv.h"
#include "codec/bills/invoice_csv.h"
#include "codec/bills/revenue_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)stint::read_revenue(bytes, "fuzz").ok();
  (void)stint::read_invoices(bytes, "fuzz").ok();
  (void)stint::read_budgets(bytes, "fuzz").ok();
  return 0;
}
