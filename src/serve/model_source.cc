#include "serve/model_source.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>

#include "host/file.h"
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
  const struct mallinfo2 info = mallinfo2();
  return Bytes::of(static_cast<int64_t>(info.uordblks + info.hblkhd));
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
  TRY_ASSIGN(const std::string bytes, read_all(file_));
  if (onnx_) return onnx_->open(bytes, file_);
  TRY_ASSIGN(SyntheticModel model, read_synthetic_model(bytes, file_));
  return make_synthetic(std::move(model));
}

Result<MeasuredModel> measure_model(const ModelSource& source, const ServedModelConfig& config) {
  TRY_ASSIGN(const Bytes before, memory_in_use(source));
  const Instant begin = steady_now();
  TRY_ASSIGN(const std::unique_ptr<Runtime> runtime, source.open());
  const Duration reload = std::max(Duration::nanoseconds(1), steady_now() - begin);
  TRY_ASSIGN(const Bytes loaded, memory_in_use(source));
  std::error_code ignored;
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(source.file(), ignored));
  batching::ModelMemory memory;
  memory.weights = runtime->footprint(1) ? runtime->footprint(1)->weights : std::max(loaded - before, Bytes::of(file_bytes));
  memory.reload = reload;
  memory.pinned = config.pinned;
  memory.budget = config.budget.value_or(memory.budget);
  std::vector<std::pair<int64_t, Bytes>> peaks;
  Status looked;
  const MeasureOptions options{
      .most_batch = config.max_batch, .warm_up = 2, .runs = kRuns, .longest = kLongestOfASize, .after_size = [&](int64_t size) {
        const std::optional<Footprint> told = runtime->footprint(size);
        // Never less than what goes in and comes out.
        const Bytes least = bytes_of(runtime->inputs(), size) + bytes_of(runtime->outputs(), size);
        const Result<Bytes> now = memory_in_use(source);
        if (!now.ok()) looked = now.error();
        peaks.emplace_back(size, told ? told->activation : std::max(now.ok() ? *now - loaded : least, least));
      }};
  TRY_ASSIGN(std::vector<batching::MeasuredBatch> measured, measure_latencies(*runtime, options));
  if (!looked.ok()) return looked.error();
  TRY_ASSIGN(batching::LatencyProfile latency, batching::LatencyProfile::create(std::move(measured)));
  memory.activation = filled_up(peaks);
  return MeasuredModel{runtime->inputs(), runtime->outputs(), std::move(memory), std::move(latency)};
}

}  // namespace stint::serve
