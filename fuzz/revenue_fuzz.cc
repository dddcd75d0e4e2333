// Any bytes are a list of revenue or an error, and a list of invoice totals or an error.
#include <cstdint>

#include "codec/invoice_csv.h"
#include "codec/revenue_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)stint::read_revenue(bytes, "fuzz").ok();
  (void)stint::read_invoices(bytes, "fuzz").ok();
  return 0;
}
