// Any bytes, cut anywhere, go through one importer: it must neither crash nor lose a row without saying so.
// STINT_FORMAT is the format's name (fuzz/CMakeLists.txt).
#include <cstdint>

#include "base/check.h"
#include "codec/importer.h"
#include "codec/testing_sink.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const stint::ImportFormat* const format = stint::find_import_format(STINT_FORMAT);
  CHECK(format != nullptr, "no format {}", STINT_FORMAT);
  if (size == 0) return 0;
  // The last byte says how large the pieces are, so that every buffer boundary is met sooner or later.
  const size_t piece = data[size - 1] + size_t{1};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  stint::TestingSink sink;
  stint::ImportOptions options{.source = "fuzz", .node = "node", .at = stint::Instant::from_seconds(1'760'000'000)};
  const auto importer = format->create(options, sink);
  for (size_t at = 0; at < input.size(); at += piece)
    if (!importer->feed(input.substr(at, piece)).ok()) return 0;
  (void)importer->finish().ok();
  return 0;
}
