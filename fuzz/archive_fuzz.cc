// Any bytes, cut anywhere, are a tar or ZIP archive or an error, and what comes out of one does not depend on the cuts.
#include <cstdint>

#include "base/check.h"
#include "collect/archive.h"

namespace {

/// What comes out, with its name; nothing after the first error.
std::string unpack(stint::ArchiveKind kind, std::string_view bytes, size_t piece, bool& good) {
  std::string out;
  good = stint::read_archive("fuzz", kind,
                             [&]() -> stint::Result<std::string_view> {
                               const std::string_view next = bytes.substr(0, piece);
                               bytes.remove_prefix(next.size());
                               return next;
                             },
                             {.begin = [&](const std::string& name) { return out += name + ":", stint::Status(); },
                              .data = [&](std::string_view part) { return out += part, stint::Status(); },
                              .end = [&] { return out += '\n', stint::Status(); }})
             .ok();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const stint::ArchiveKind kind : {stint::ArchiveKind::kTar, stint::ArchiveKind::kZip}) {
    bool whole_good = false, cut_good = false;
    const std::string whole = unpack(kind, bytes, bytes.size(), whole_good);
    const std::string cut = unpack(kind, bytes, data[size - 1] % 16 + size_t{1}, cut_good);
    CHECK(whole_good == cut_good, "an error by the cuts");
    CHECK(!whole_good || whole == cut, "content by the cuts");
  }
  return 0;
}
