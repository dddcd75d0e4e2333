// One replica in simulation: arrivals, the batcher itself, and batches that take what the profile draws.
#pragma once

#include <cstdint>

#include "batching/arrivals.h"
#include "batching/latency_profile.h"

namespace stint::batching {

/// `permille` of requests answered within `limit`: 50 ms at p99 is {50 ms, 990}.
struct Promise {
  Duration limit;
  int64_t permille = 990;
};

struct ServingSetup {
  int64_t max_batch = 1;
  Duration max_wait;
  int64_t instances = 1;
};

struct ServingLoad {
  double per_second = 0;  ///< at all replicas together
  int64_t replicas = 1;
};

struct ServingRun {
  bool kept = false;    ///< the promise, over the requests counted
  Duration at_promise;  ///< latency at the promise's quantile; of a run given up early: above the limit, no more is known
  Duration median;
  double mean_batch = 0;
  double busy = 0;  ///< of the instances' time
};

/// How long one run is, and which.
struct ServingSample {
  int64_t requests = 0;  ///< that are counted, after a tenth more that warm the queue up
  uint64_t seed = 0;
  ArrivalPlan arrivals = {};
};

/// What the queue refuses is late. A run that has broken the promise already is given up.
ServingRun simulate_serving(const LatencyProfile& profile, const ServingSetup& setup, const ServingLoad& load,
                            const Promise& promise, const ServingSample& sample);

}  // namespace stint::batching
