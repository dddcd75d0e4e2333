// Any text as catalogue tables: a catalogue or an error.
#include <cstdint>

#include "catalog/catalog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t third = size / 3;
  (void)stint::Catalog::parse(text.substr(0, third), text.substr(third, third), text.substr(2 * third)).ok();
  return 0;
}
