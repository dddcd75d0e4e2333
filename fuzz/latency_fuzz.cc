// Any bytes are sound latency profiles or an error that names the file.
#include <cstdint>

#include "base/check.h"
#include "documents/latency_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profiles = stint::read_latencies({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!profiles.ok()) {
    CHECK(profiles.error().message.starts_with("fuzz"), "an error that does not name the file: {}", profiles.error().message);
    return 0;
  }
  for (const auto& profile : *profiles)
    CHECK(profile.latency.quantile(1, 0) > stint::Duration() &&
              profile.latency.mean(profile.latency.largest()) >= profile.latency.quantile(1, 0),
          "a batch takes no time");
  return 0;
}
