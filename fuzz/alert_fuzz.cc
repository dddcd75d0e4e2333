// Any bytes are a configuration of alerts, an entry of their book, a matcher, or an error; what can be written again is read
// back the same.
#include <cstdint>

#include "base/check.h"
#include "daemon/alerts/alert_config.h"
#include "daemon/alerts/alert_journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto config = stint::parse_alert_config(input, "fuzz"); config.ok())
    for (const stint::AlertRule& rule : config->rules)
      CHECK(stint::check_alert_rule(rule).ok(), "a rule that makes no sense was taken");
  stint::JsonParser parser;
  if (const auto entry = stint::decode_alert_entry(parser, input); entry.ok()) {
    const std::string text = stint::encode(*entry);
    const auto again = stint::decode_alert_entry(parser, text);
    CHECK(again.ok(), "what was written is refused: {}", again.error().message);
    CHECK(stint::encode(*again) == text, "writing is not stable");
  }
  if (const auto matcher = stint::parse_alert_matcher(input); matcher.ok()) {
    const auto again = stint::parse_alert_matcher(stint::to_text(*matcher));
    CHECK(again.ok() && *again == *matcher, "a matcher is not read back");
  }
  return 0;
}
