// Any bytes are a request target within its bounds, or an error.
#include <cstdint>

#include "base/check.h"
#include "host/http_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto target = stint::parse_http_target({reinterpret_cast<const char*>(data), size});
  if (!target.ok()) return 0;
  CHECK(size <= 8192 && target->segments.size() <= 64 && target->parameters.size() <= 64, "bounds do not hold");
  for (const std::string& segment : target->segments)
    for (const char c : segment)
      CHECK(static_cast<unsigned char>(c) >= 0x20, "a control character came through");
  return 0;
}
