// Any text as catalogue tables, and as measured pairs: a catalogue, pairs that are read again as they were written, or an error.
#include <cstdint>

#include "base/check.h"
#include "catalog/catalog.h"
#include "catalog/measured_pairs.h"
#include "catalog/timed_offers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t third = size / 3;
  (void)stint::Catalog::parse(text.substr(0, third), text.substr(third, third), text.substr(2 * third)).ok();
  (void)stint::parse_timed_offers(text).ok();
  if (const auto pairs = stint::parse_pairs("pairs", text); pairs.ok()) {
    const std::string written = stint::write_pairs(*pairs);
    const auto again = stint::parse_pairs("again", written);
    CHECK(again.ok() && stint::write_pairs(*again) == written, "pairs change: {}", again.ok() ? written : again.error().message);
  }
  return 0;
}
