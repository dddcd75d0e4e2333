// Any bytes are a list of revenue or an error.
#include <cstdint>

#include "codec/revenue_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)stint::read_revenue({reinterpret_cast<const char*>(data), size}, "fuzz").ok();
  return 0;
}
