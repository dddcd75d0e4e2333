// How long a model's batches take here, by size: what the tuner starts from.
#pragma once

#include <functional>

#include "batching/latency_profile.h"
#include "serve/runtime.h"

namespace stint::serve {

struct MeasureOptions {
  int64_t most_batch = 32;                          ///< sizes 1, 2, 4, … up to it, and it
  int64_t warm_up = 5;                              ///< runs of each size that do not count
  int64_t runs = 200;                               ///< at most, of each size
  Duration longest = Duration::milliseconds(1500);  ///< of each size; ten runs there are in any case
  Sizes sizes = {};                                 ///< of all free dimensions of the inputs
  std::function<void(int64_t)> after_size = {};     ///< called when a size is done, ascending; may be empty
};

/// Times whatever runs batches. @param prepare  for a size: what is then run again and again
Result<std::vector<batching::MeasuredBatch>> measure_sizes(const std::function<Result<std::function<Status()>>(int64_t)>& prepare,
                                                           const MeasureOptions& options);
/// Random values for each input, of `shapes`.
std::vector<Values> random_inputs(const Runtime& runtime, int64_t items, std::span<const Shape> shapes);
/// Of each input with these sizes. @return error naming a free dimension that has none
Result<std::vector<Shape>> input_shapes(const Runtime& runtime, const Sizes& sizes);
/// Ok, or which of the sizes is of no free dimension of the inputs.
Status check_named(const Runtime& runtime, const Sizes& sizes);
/// Runs batches of random values, none larger than the model takes. Wall time of the calling thread: keep other work off the machine.
Result<std::vector<batching::MeasuredBatch>> measure_latencies(Runtime& runtime, const MeasureOptions& options);

}  // namespace stint::serve
