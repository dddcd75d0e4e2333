// Any bytes are a daemon's configuration or an error; the fleet of what is accepted is written and read back the same.
#include <cstdint>

#include "base/check.h"
#include "daemon/fleet_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = stint::parse_daemon_config({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!config.ok()) return 0;
  const std::string text = stint::to_json(config->fleet);
  const auto again = stint::parse_fleet_config(text, "again");
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(stint::to_json(*again) == text, "writing is not stable: {} and {}", text, stint::to_json(*again));
  for (const stint::ServiceConfig& service : config->services)
    CHECK(std::cmp_greater(service.places.size(), service.rules.max_nodes), "{} places", service.places.size());
  return 0;
}
