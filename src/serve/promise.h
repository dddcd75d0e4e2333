// How a served model is batched, and how much load it can take before it breaks its promise: by simulation from what its batches take.
#pragma once

#include "batching/latency_profile.h"
#include "codec/serving/served_model_file.h"

namespace stint::serve {

/// What requests and batches have together.
struct SharedCores {
  std::optional<int64_t> count;  ///< none: batches take none of them
  double seen_per_second = 0;    ///< requests that came while the batches' times were seen
};

/// @return requests per second (of one item, Poisson) at which the promised p99 is just kept, within 5 %, though batches take
///   as much longer than `latency` as they may until LatencyWatch follows; 0 when it is broken by a
///   single request.
/// @param front  of a request, beside its batch; none: not known, and not counted
double most_within_promise(const batching::LatencyProfile& latency, const batching::BatchPolicy& policy, Duration promise,
                           std::optional<Duration> front, const SharedCores& shared);

/// How the configuration says; where it says `tune`, with the wait and the preferred sizes that keep the promise at this load, and at
/// twice as much where that can be.
/// @param per_second  requests that come; less than one counts as one.
batching::BatchPolicy policy_of(const ServedModelConfig& config, const batching::LatencyProfile& latency, double per_second,
                                std::optional<Duration> front);

}  // namespace stint::serve
