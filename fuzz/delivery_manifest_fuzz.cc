// Any bytes are a list of delivered files or none.
#include <cstdint>

#include "base/check.h"
#include "codec/bills/delivery_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto manifest = stint::parse_delivery_manifest({reinterpret_cast<const char*>(data), size});
  if (manifest)
    for (const std::string& file : manifest->files)
      CHECK(!file.empty(), "a file without a name");
  return 0;
}
