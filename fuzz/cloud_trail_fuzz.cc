// Any bytes are clouds' audit logs, or errors; cut in two they say the same.
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "codec/trails/cloud_trail.h"

namespace {

std::vector<stint::MachineActRecord> acts_of(stint::TrailFormat format, std::string_view first, std::string_view rest) {
  std::vector<stint::MachineActRecord> acts;
  stint::TrailReader reader(format, "log", [&](stint::MachineActRecord act) { acts.push_back(std::move(act)); });
  if (!reader.feed(first).ok() || !reader.feed(rest).ok() || !reader.finish().ok()) acts.clear();
  return acts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto format = static_cast<stint::TrailFormat>(data[0] % 3);
  const std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  const size_t cut = text.size() * data[1] / 256;
  CHECK(acts_of(format, text, "") == acts_of(format, text.substr(0, cut), text.substr(cut)), "cut at {}: other acts", cut);
  return 0;
}
