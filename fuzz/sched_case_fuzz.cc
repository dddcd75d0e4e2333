// Any bytes are scheduling cases in the neutral format, or an error.
#include <cstdint>

#include "documents/sched_case.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)stint::read_sched_cases({reinterpret_cast<const char*>(data), size}).ok();
  return 0;
}
