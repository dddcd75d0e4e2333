// Damaged rollup days are refused, sound ones survive a round trip.
#include <cstdint>

#include "telemetry/rollup.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto day = stint::decode_rollup_day(20000, {reinterpret_cast<const char*>(data), size});
  if (!day.ok()) return 0;
  const std::string again = stint::encode(*day);
  const auto second = stint::decode_rollup_day(20000, again);
  CHECK(second.ok(), "encoded day does not decode: {}", second.error().message);
  CHECK(stint::encode(*second) == again, "encoding is not stable");
  return 0;
}
