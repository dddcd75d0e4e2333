// How much load a served model can take before it breaks its promise, by simulation from its measured latencies.
#pragma once

#include "batching/latency_profile.h"
#include "codec/served_model_file.h"

namespace stint::serve {

/// @return requests per second (of one item, Poisson) at which the promised p99 is just kept, within 5 %; 0 when it is broken by a
///   single request.
double most_within_promise(const batching::LatencyProfile& latency, const ServedModelConfig& config, Duration promise);

}  // namespace stint::serve
