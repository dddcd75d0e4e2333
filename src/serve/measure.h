// How long a model's batches take here, by size: what the tuner starts from.
#pragma once

#include "batching/latency_profile.h"
#include "serve/runtime.h"

namespace stint::serve {

struct MeasureOptions {
  int64_t most_batch = 32;                          ///< sizes 1, 2, 4, … up to it, and it
  int64_t warm_up = 5;                              ///< runs of each size that do not count
  int64_t runs = 200;                               ///< at most, of each size
  Duration longest = Duration::milliseconds(1500);  ///< of each size; ten runs there are in any case
};

/// Runs batches of random values. Wall time of the calling thread: keep other work off the machine.
Result<std::vector<batching::MeasuredBatch>> measure_latencies(Runtime& runtime, const MeasureOptions& options);

}  // namespace stint::serve
