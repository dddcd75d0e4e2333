// What a text exposition tells of services, as `stint serve run` does: `stint_latency_p99{service="NAME",…} MS`,
// `stint_serve_promise_headroom{model="NAME",…}` and `stint_serve_arrivals_per_second{model="NAME",…}`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stint {

/// Of all that the exposition tells of a service (its versions, say): the longest, the least, the sum.
struct ServiceFigures {
  std::string service;
  std::optional<double> p99_ms;
  std::optional<double> headroom;    ///< part of the promised load that is free, at most 1; below 0 the promise breaks
  std::optional<double> per_second;  ///< requests
};

/// Ascending by service. Lines that are no such sample, and values that cannot be, are passed over.
std::vector<ServiceFigures> read_service_figures(std::string_view exposition);

}  // namespace stint
