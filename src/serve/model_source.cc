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

Bytes bytes_of(const std::vector<TensorSpec>& tensors, int64_t items) {
  int64_t bytes = 0;
  for (const TensorSpec& spec : tensors)
    bytes += static_cast<int64_t>(spec.item_bytes()) * items;
  return Bytes::of(bytes);
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

ModelSource onnx_source(std::string file, std::shared_ptr<const OnnxRuntime> onnx) {
  ModelSource source;
  source.file_ = std::move(file);
  source.onnx_ = std::move(onnx);
  return source;
}

Result<Measurement> run_and_measure(const ModelSource& source, int64_t most_batch) {
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
  Status looked;
  const MeasureOptions options{
      .most_batch = most_batch, .warm_up = 2, .runs = kRuns, .longest = kLongestOfASize, .after_size = [&](int64_t size) {
        const std::optional<Footprint> footprint = runtime->footprint(size);
        // Never less than what goes in and comes out.
        const Bytes least = bytes_of(runtime->inputs(), size) + bytes_of(runtime->outputs(), size);
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
  return MeasuredModel{std::move(measured.inputs), std::move(measured.outputs), std::move(memory), std::move(latency)};
}

Result<MeasuredModel> measure_model(const ModelSource& source, const ServedModelConfig& config) {
  TRY_ASSIGN(Measurement measured, run_and_measure(source, config.max_batch));
  return facts_of(std::move(measured), config);
}

}  // namespace stint::serve
