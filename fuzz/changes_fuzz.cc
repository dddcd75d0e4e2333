// Any bytes are a file of changes or an error; what is read is written and read back the same.
#include <cstdint>

#include "base/check.h"
#include "codec/changes/change_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)stint::read_changes(input, "fuzz").ok();
  const auto proposals = stint::read_proposals(input, "fuzz");
  if (!proposals.ok()) return 0;
  const std::string text = stint::write_proposals(*proposals);
  const auto again = stint::read_proposals(text, "again");
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(stint::write_proposals(*again) == text, "writing is not stable");
  return 0;
}
