#include "serve/measure.h"

#include <algorithm>
#include <chrono>

#include "serve/random_values.h"

namespace stint::serve {
namespace {

constexpr int64_t kFewestRuns = 10;

std::vector<Values> random_inputs(const Runtime& runtime, int64_t items) {
  Prng prng(1);
  std::vector<Values> inputs;
  for (const TensorSpec& spec : runtime.inputs())
    inputs.push_back(random_values(spec.type, static_cast<size_t>(items * spec.item_size()), prng));
  return inputs;
}

Result<Duration> time_one(const std::function<Status()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  TRY(run());
  const auto took = std::chrono::steady_clock::now() - begin;
  return Duration::nanoseconds(std::max<int64_t>(1, std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
}

}  // namespace

Result<std::vector<batching::MeasuredBatch>> measure_sizes(const std::function<Result<std::function<Status()>>(int64_t)>& prepare,
                                                           const MeasureOptions& options) {
  if (options.most_batch < 1 || options.runs < 1) return invalid("{} runs of batches up to {}", options.runs, options.most_batch);
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < options.most_batch; size *= 2)
    sizes.push_back(size);
  sizes.push_back(options.most_batch);
  std::vector<batching::MeasuredBatch> measured;
  for (const int64_t size : sizes) {
    TRY_ASSIGN(const std::function<Status()> run, prepare(size));
    for (int64_t i = 0; i < options.warm_up; ++i)
      TRY(time_one(run));
    batching::MeasuredBatch point{size, {}};
    Duration spent;
    for (int64_t i = 0; i < options.runs && (i < kFewestRuns || spent < options.longest); ++i) {
      TRY_ASSIGN(const Duration took, time_one(run));
      point.times.push_back(took);
      spent += took;
    }
    measured.push_back(std::move(point));
    if (options.after_size) options.after_size(size);
  }
  return measured;
}

Result<std::vector<batching::MeasuredBatch>> measure_latencies(Runtime& runtime, const MeasureOptions& options) {
  return measure_sizes(
      [&runtime](int64_t size) -> Result<std::function<Status()>> {
        return std::function<Status()>([&runtime, size, inputs = random_inputs(runtime, size)]() -> Status {
          TRY(runtime.run(size, inputs));
          return {};
        });
      },
      options);
}

}  // namespace stint::serve
