// Times, durations and money from any text: a value that prints and reads back, or an error.
#include <cstdint>

#include "base/money.h"
#include "base/time.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto t = stint::parse_instant(text); t.ok()) {
    const auto again = stint::parse_instant(stint::format_utc(*t));
    CHECK(again.ok() && *again == *t, "{} does not read back", stint::format_utc(*t));
  }
  if (const auto m = stint::Money::parse(text); m.ok()) {
    const auto again = stint::Money::parse(m->to_decimal());
    CHECK(again.ok() && *again == *m, "{} does not read back", m->to_decimal());
  }
  (void)stint::parse_duration(text).ok();
  (void)stint::parse_month(text).ok();
  return 0;
}
