// Any bytes, cut anywhere, are a sound workload or an error; what can be written again is read back the same.
#include <cstdint>

#include "base/check.h"
#include "documents/workload_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The last byte says how large the pieces are, so that every buffer boundary is met sooner or later.
  const size_t piece = data[size - 1] + size_t{1};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  stint::WorkloadReader reader("fuzz");
  for (size_t at = 0; at < input.size(); at += piece)
    if (!reader.feed(input.substr(at, piece)).ok()) return 0;
  const auto workload = reader.finish();
  if (!workload.ok()) return 0;
  const auto text = stint::write_workload(*workload);
  if (!text.ok()) return 0;
  stint::WorkloadReader second("fuzz");
  CHECK(second.feed(*text).ok(), "what was written is refused");
  const auto again = second.finish();
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(*stint::write_workload(*again) == *text, "writing is not stable");
  return 0;
}
