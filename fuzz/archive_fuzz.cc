// Any bytes, cut anywhere, are a ZIP archive or an error, and what comes out of one does not depend on the cuts.
#include <cstdint>

#include "base/check.h"
#include "collect/zip.h"

namespace {

/// What comes out, with its name; nothing after the first error.
std::string unzip(std::string_view bytes, size_t piece, bool& good) {
  std::string out;
  stint::ZipReader reader("fuzz", {.begin = [&](const std::string& name) { return out += name + ":", stint::Status(); },
                                   .data = [&](std::string_view part) { return out += part, stint::Status(); },
                                   .end = [&] { return out += '\n', stint::Status(); }});
  good = true;
  for (size_t at = 0; at < bytes.size() && good; at += piece)
    good = reader.feed(bytes.substr(at, piece)).ok();
  good = good && reader.finish().ok();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool whole_good = false, cut_good = false;
  const std::string whole = unzip(bytes, bytes.size(), whole_good);
  const std::string cut = unzip(bytes, data[size - 1] % 16 + size_t{1}, cut_good);
  CHECK(whole_good == cut_good, "an error by the cuts");
  CHECK(!whole_good || whole == cut, "content by the cuts");
  return 0;
}
