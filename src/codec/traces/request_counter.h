// How far a counter went within a period: what a Prometheus answers to query_range of `nv_inference_request_success`,
// `vllm:request_success_total` and the like, saved to a file. Source: Prometheus HTTP API, "Range queries".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct CounterIncrease {
  double increase = 0;  ///< of all series together; a counter that fell began anew at 0
  Duration known;       ///< of the period, between the first and the last sample of any series
};

/// Steps that lie across the period's ends count in proportion.
/// @return error for anything but a matrix of samples.
Result<CounterIncrease> read_counter_increase(std::string_view json, Interval period, const std::string& source);

}  // namespace stint
