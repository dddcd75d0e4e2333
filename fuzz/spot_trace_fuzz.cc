// Any bytes are a sound trace and sound windows of it, or errors.
#include <cstdint>

#include "base/check.h"
#include "codec/traces/spot_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // A trace, a NUL, windows.
  const size_t cut = input.find('\0');
  const auto trace = stint::read_spot_trace(input.substr(0, cut), "t.json");
  if (trace.ok()) CHECK(trace->tick_s > 0, "a tick of {} s", trace->tick_s);
  const std::vector<stint::SpotTrace> traces = {trace.ok() ? *trace : stint::SpotTrace{"t", 600, {1, 0, 1}}};
  const auto windows = stint::read_spot_windows(input.substr(cut == input.npos ? 0 : cut + 1), traces, "w.csv");
  if (!windows.ok()) return 0;
  for (const stint::SpotWindow& w : *windows)
    CHECK(w.trace == 0 && uint64_t{w.start_tick} + w.length_ticks <= traces[0].available.size(), "a window from {} of {} ticks",
          w.start_tick, w.length_ticks);
  return 0;
}
