// The latency of services in a text exposition: `stint_latency_p99{service="NAME",…} MS`, as `stint serve run` tells it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stint {

struct ServiceLatency {
  std::string service;
  double p99_ms = 0;
};

/// Ascending by service; the longest where several series (its versions, say) tell of one. Lines that are no such sample, and values that
/// are no time, are passed over.
std::vector<ServiceLatency> read_service_latencies(std::string_view exposition);

}  // namespace stint
