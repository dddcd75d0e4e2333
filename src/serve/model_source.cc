#include "serve/model_source.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>

#include "host/file.h"
#include "host/memory_use.h"
#include "serve/measure.h"
#include "serve/steady.h"
#include "serve/synthetic_runtime.h"

namespace stint::serve {
namespace {

constexpr int64_t kRuns = 30;
constexpr Duration kLongestOfASize = Duration::milliseconds(150);

/// Of what holds the model's weights.
Result<Bytes> memory_in_use(const ModelSource& source) {
  if (const Gpu* gpu = source.gpu()) {
    TRY_ASSIGN(const MemoryUse use, gpu->memory({}));
    return use.used;
  }
  malloc_trim(0);  // the heap keeps what was freed, to be used again
  TRY_ASSIGN(const OwnMemory own, own_memory());
  return own.anonymous;
}

/// Of this process, at most since its peak was reset.
Result<Bytes> peak_of(const ModelSource& source) {
  if (source.gpu() != nullptr) return Bytes();
  TRY_ASSIGN(const OwnMemory own, own_memory());
  return own.peak;
}

Bytes bytes_of(const std::vector<TensorSpec>& tensors, std::span<const Shape> shapes, int64_t items) {
  int64_t bytes = 0;
  for (size_t t = 0; t < tensors.size(); ++t)
    bytes += count_of(shapes[t]) * static_cast<int64_t>(size_of(tensors[t].type)) * items;
  return Bytes::of(bytes);
}

/// Runs one item. @return the outputs' shapes
Result<std::vector<Shape>> try_sizes(Runtime& runtime, const Sizes& sizes) {
  TRY_ASSIGN(const std::vector<Shape> shapes, input_shapes(runtime, sizes));
  TRY_ASSIGN(const std::vector<ShapedValues> out, runtime.run_shaped(1, random_inputs(runtime, 1, shapes), shapes));
  std::vector<Shape> given;
  for (const ShapedValues& one : out)
    given.push_back(one.item_shape);
  return given;
}

/// Completes `told.largest`, by trying where nothing is said.
Status find_largest(Runtime& runtime, const Sizes& said, Measurement& told) {
  constexpr int64_t kLargestTried = 512;
  std::vector<std::string> open;
  for (const TensorSpec& spec : runtime.inputs())
    for (const std::string& name : spec.free)
      if (const auto found = said.find(name); found != said.end())
        told.largest[name] = found->second;
      else
        open.push_back(name);
  for (int64_t size = open.empty() ? 1 : kLargestTried;; size /= 2) {
    for (const std::string& name : open)
      told.largest[name] = size;
    Result<std::vector<Shape>> ran = try_sizes(runtime, told.largest);
    if (ran.ok()) {
      told.output_shapes = std::move(*ran);
      return {};
    }
    if (size == 1) return ran.error();
  }
}

/// For every size up to the largest, that of the next measured one.
std::vector<Bytes> filled_up(const std::vector<std::pair<int64_t, Bytes>>& peaks) {
  std::vector<Bytes> activation;
  Bytes least;
  for (const auto& [size, peak] : peaks) {
    least = std::max(least, peak);
    activation.resize(static_cast<size_t>(size), least);
  }
  return activation;
}

}  // namespace

Result<ModelSource> ModelSource::find(const std::string& folder, std::shared_ptr<const OnnxRuntime> onnx) {
  ModelSource source;
  std::error_code ignored;
  source.file_ = folder + "/model.synthetic.json";
  if (std::filesystem::exists(source.file_, ignored)) return source;
  source.file_ = folder + "/model.onnx";
  if (!std::filesystem::exists(source.file_, ignored))
    return make_error(ErrorCode::kNotFound, "{}: holds neither model.onnx nor model.synthetic.json", folder);
  if (!onnx)
    return make_error(ErrorCode::kUnavailable, "{}: no ONNX Runtime: scripts/setup-onnxruntime fetches one, for --onnxruntime",
                      source.file_);
  source.onnx_ = std::move(onnx);
  return source;
}

std::optional<ModelSource> ModelSource::small_variant() const {
  ModelSource small = *this;
  small.file_.insert(small.file_.rfind("/model.") + 6, ".small");
  std::error_code ignored;
  if (!std::filesystem::exists(small.file_, ignored)) return std::nullopt;
  return small;
}

std::optional<ModelSource> ModelSource::on_host() const {
  if (gpu() == nullptr) return std::nullopt;
  ModelSource host = *this;
  host.onnx_ = std::make_shared<const OnnxRuntime>(onnx_->on_processor());
  return host;
}

Result<std::unique_ptr<Runtime>> ModelSource::open() const {
  if (onnx_) return onnx_->open_file(file_);
  TRY_ASSIGN(const std::string bytes, read_all(file_));
  TRY_ASSIGN(SyntheticModel model, read_synthetic_model(bytes, file_));
  return make_synthetic(std::move(model));
}

Sizes largest_in(const ServedModelConfig& config) {
  Sizes sizes;
  for (const auto& [name, dimension] : config.dimensions)
    if (dimension.largest) sizes[name] = *dimension.largest;
  return sizes;
}

ModelSource onnx_source(std::string file, std::shared_ptr<const OnnxRuntime> onnx) {
  ModelSource source;
  source.file_ = std::move(file);
  source.onnx_ = std::move(onnx);
  return source;
}

Result<Measurement> run_and_measure(const ModelSource& source, int64_t most_batch, const Sizes& largest) {
  TRY_ASSIGN(const Bytes before, memory_in_use(source));
  reset_own_peak();
  TRY_ASSIGN(const Bytes resident, peak_of(source));
  const Instant begin = steady_now();
  TRY_ASSIGN(const std::unique_ptr<Runtime> runtime, source.open());
  Measurement told;
  told.reload = std::max(Duration::nanoseconds(1), steady_now() - begin);
  TRY_ASSIGN(const Bytes peak, peak_of(source));
  TRY_ASSIGN(const Bytes loaded, memory_in_use(source));
  std::error_code ignored;
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(source.file(), ignored));
  const std::optional<Footprint> known = runtime->footprint(1);
  told.weights = known ? known->weights : std::max(loaded - before, Bytes::of(file_bytes));
  if (!known) told.loading = std::max(Bytes(), peak - resident - told.weights);
  TRY(find_largest(*runtime, largest, told));
  TRY_ASSIGN(told.masked, try_mask(*runtime, told.largest));
  runtime->trim();
  TRY_ASSIGN(const std::vector<Shape> in_shapes, input_shapes(*runtime, told.largest));
  Status looked;
  const MeasureOptions options{
      .most_batch = most_batch,
      .warm_up = 2,
      .runs = kRuns,
      .longest = kLongestOfASize,
      .sizes = told.largest,
      .after_size = [&](int64_t size) {
        const std::optional<Footprint> footprint = runtime->footprint(size);
        // Never less than what goes in and comes out.
        const Bytes least = bytes_of(runtime->inputs(), in_shapes, size) + bytes_of(runtime->outputs(), told.output_shapes, size);
        const Result<Bytes> now = memory_in_use(source);
        if (!now.ok()) looked = now.error();
        told.peaks.emplace_back(size, footprint ? footprint->activation : std::max(now.ok() ? *now - loaded : least, least));
      }};
  TRY_ASSIGN(told.batches, measure_latencies(*runtime, options));
  if (!looked.ok()) return looked.error();
  told.inputs = runtime->inputs();
  told.outputs = runtime->outputs();
  return told;
}

Result<MeasuredModel> facts_of(Measurement measured, const ServedModelConfig& config) {
  TRY_ASSIGN(batching::LatencyProfile latency, batching::LatencyProfile::create(std::move(measured.batches)));
  batching::ModelMemory memory;
  memory.weights = measured.weights;
  memory.loading = measured.loading;
  memory.activation = filled_up(measured.peaks);
  memory.reload = measured.reload;
  memory.pinned = config.pinned;
  memory.budget = config.budget.value_or(memory.budget);
  TRY_ASSIGN(Padding padding, Padding::create(measured.inputs, measured.outputs, measured.largest, measured.masked, config));
  std::optional<GenerationPlan> generation;
  if (config.generate) {
    TRY_ASSIGN(generation, GenerationPlan::create(measured.inputs, measured.outputs, measured.largest, *config.generate));
  }
  return MeasuredModel{std::move(measured.inputs), std::move(measured.outputs), std::move(memory),
                       std::move(latency),         std::move(measured.largest), std::move(measured.output_shapes),
                       std::move(padding),         std::move(generation),       measured.front};
}

Result<MeasuredModel> measure_model(const ModelSource& source, const ServedModelConfig& config) {
  TRY_ASSIGN(Measurement measured, run_and_measure(source, config.max_batch, largest_in(config)));
  return facts_of(std::move(measured), config);
}

}  // namespace stint::serve
