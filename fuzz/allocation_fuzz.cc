// What GET /allocation is asked: any text is a window or keys within their bounds, or an error.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "codec/bills/opencost_window.h"
#include "ledger/allocation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto window = stint::parse_opencost_window(text, stint::Instant::from_seconds(1'790'000'000));
  if (window.ok()) {
    CHECK(!window->empty(), "a window without length");
    const auto steps = stint::allocation_steps(*window, stint::kHour);
    CHECK(!steps.ok() || (!steps->empty() && steps->back().end == window->end), "the steps are not the window");
  }
  if (const auto keys = stint::parse_allocation_keys(text); keys.ok())
    CHECK(stint::text_of(*keys) == text, "keys are written in another way than they were read");
  return 0;
}
