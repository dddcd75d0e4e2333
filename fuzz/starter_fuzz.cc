// Any bytes are a request that the privileged starter takes, or an error; what it takes can be written and read back the same, and asks for
// no account. Any bytes are an answer, or an error.
#include <cstdint>

#include "backends/starter/starter_messages.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)stint::read_starter_done(input);
  (void)stint::read_starter_notes(input);
  (void)stint::read_starter_events(input);
  (void)stint::read_starter_log(input, "");
  (void)stint::read_starter_kept(input);
  (void)stint::read_starter_owner(input);
  const auto request = stint::parse_starter_request(input);
  if (!request.ok()) return 0;
  if (const auto* orders = std::get_if<stint::StarterOrders>(&*request))
    for (const stint::Order& order : orders->orders)
      CHECK(!order.launch || (!order.launch->run_as && order.launch->key == order.key),
            "it asks for an account, or another launch");
  const std::string text = stint::to_json(*request);
  const auto again = stint::parse_starter_request(text);
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(stint::to_json(*again) == text, "writing is not stable");
  return 0;
}
