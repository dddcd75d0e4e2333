// Any bytes are the time of a batch or an error that names the file.
#include <cstdint>

#include "base/check.h"
#include "documents/perf_analyzer_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto time = stint::read_perf_analyzer({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (time.ok())
    CHECK(*time > stint::Duration() && *time <= stint::Duration::hours(4), "a batch takes {} ns", time->count_ns());
  else
    CHECK(time.error().message.starts_with("fuzz"), "an error that does not name the file: {}", time.error().message);
  return 0;
}
