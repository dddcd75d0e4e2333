#include "serve/measure.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "serve/random_values.h"

namespace stint::serve {
namespace {

constexpr int64_t kFewestRuns = 10;

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

std::vector<Values> random_inputs(const Runtime& runtime, int64_t items, std::span<const Shape> shapes) {
  Prng prng(1);
  std::vector<Values> inputs;
  for (size_t i = 0; i < shapes.size(); ++i)
    inputs.push_back(random_values(runtime.inputs()[i].type, static_cast<size_t>(items * count_of(shapes[i])), prng));
  return inputs;
}

Result<std::vector<Shape>> input_shapes(const Runtime& runtime, const Sizes& sizes) {
  std::vector<Shape> shapes;
  for (const TensorSpec& spec : runtime.inputs()) {
    shapes.push_back(spec.shape_with(sizes));
    for (const std::string& name : spec.free)
      if (!sizes.contains(name))
        return invalid("input {} has a free dimension, {}: say how large, --shape {}=128", spec.name, name, name);
  }
  return shapes;
}

Status check_named(const Runtime& runtime, const Sizes& sizes) {
  std::set<std::string> free;
  for (const TensorSpec& spec : runtime.inputs())
    free.insert(spec.free.begin(), spec.free.end());
  for (const auto& [name, size] : sizes)
    if (!free.contains(name))
      return invalid("{} is no free dimension of the model's inputs: {}", name,
                     free.empty() ? "all have sizes" : fmt::format("they have {}", fmt::join(free, ", ")));
  return {};
}

Result<std::vector<batching::MeasuredBatch>> measure_latencies(Runtime& runtime, const MeasureOptions& options) {
  TRY_ASSIGN(const std::vector<Shape> shapes, input_shapes(runtime, options.sizes));
  MeasureOptions within = options;
  within.most_batch = std::min(options.most_batch, runtime.most_items().value_or(options.most_batch));
  return measure_sizes(
      [&](int64_t size) -> Result<std::function<Status()>> {
        return std::function<Status()>([&runtime, &shapes, size, inputs = random_inputs(runtime, size, shapes)]() -> Status {
          TRY(runtime.run_shaped(size, inputs, shapes));
          return {};
        });
      },
      within);
}

}  // namespace stint::serve
