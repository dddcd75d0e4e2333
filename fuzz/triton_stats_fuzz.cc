// Any bytes are a sound batch curve or an error that names the file.
#include <cstdint>

#include "base/check.h"
#include "documents/triton_stats.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = stint::read_triton_stats({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!profile.ok()) {
    CHECK(profile.error().message.starts_with("fuzz"), "an error that does not name the file: {}", profile.error().message);
    return 0;
  }
  CHECK(profile->quantile(1, 0) > stint::Duration() && profile->mean(profile->largest()) >= profile->mean(1),
        "a batch takes no time");
  return 0;
}
