// Any bytes are an audit's findings or an error, decisions or changes or an error; both are read back as they are written.
#include <cstdint>

#include "base/check.h"
#include "daemon/finding_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)stint::read_audit(text, "fuzz");
  if (const auto carried = stint::parse_carried(text, "fuzz"); carried.ok()) {
    const std::string kept = stint::format_carried(*carried);
    const auto read = stint::parse_carried(kept, "fuzz");
    CHECK(read.ok() && stint::format_carried(*read) == kept, "changes that are written are not read back the same");
    (void)stint::standing_asks(*carried);
  }
  const auto decisions = stint::parse_decisions(text, "fuzz");
  if (!decisions.ok()) return 0;
  const std::string written = stint::format_decisions(*decisions);
  const auto again = stint::parse_decisions(written, "fuzz");
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(stint::format_decisions(*again) == written, "writing is not stable");
  return 0;
}
