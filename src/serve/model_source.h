// A version of a model in the repository, opened and measured: what the batcher and the memory budget must know of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "batching/latency_profile.h"
#include "batching/memory_facts.h"
#include "codec/serving/served_model_file.h"
#include "serve/onnx_runtime.h"
#include "serve/runtime.h"

namespace stint::serve {

/// How to open it, as often as it is loaded.
class ModelSource {
 public:
  /// @param folder  of the version: holds model.onnx or model.synthetic.json. @param onnx  null: ONNX models cannot be opened.
  /// @return error naming what is missing.
  static Result<ModelSource> find(const std::string& folder, std::shared_ptr<const OnnxRuntime> onnx);
  /// Its smaller variant beside it, model.small.onnx or model.small.synthetic.json; none: there is none.
  [[nodiscard]] std::optional<ModelSource> small_variant() const;
  /// The same on the processor; none: that is where it runs.
  [[nodiscard]] std::optional<ModelSource> on_host() const;
  [[nodiscard]] Result<std::unique_ptr<Runtime>> open() const;
  /// `onnxruntime` or `synthetic`
  [[nodiscard]] std::string_view platform() const { return onnx_ ? "onnxruntime" : "synthetic"; }
  [[nodiscard]] const std::string& file() const { return file_; }
  /// Where it runs; null: on the processor.
  [[nodiscard]] const Gpu* gpu() const { return onnx_ ? onnx_->gpu().get() : nullptr; }

 private:
  std::string file_;
  std::shared_ptr<const OnnxRuntime> onnx_;  ///< null: synthetic
};

struct MeasuredModel {
  std::vector<TensorSpec> inputs, outputs;
  batching::ModelMemory memory;
  batching::LatencyProfile latency;
};

/// Opens it, runs batches up to the configuration's largest, and closes it again. Memory is what the heap, or the GPU's memory in use, grew by
/// where the runtime does not know: measured best while nothing else runs.
Result<MeasuredModel> measure_model(const ModelSource& source, const ServedModelConfig& config);

}  // namespace stint::serve
