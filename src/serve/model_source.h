// A version of a model in the repository, opened and measured: what the batcher and the memory budget must know of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "batching/latency_profile.h"
#include "batching/memory_facts.h"
#include "codec/serving/served_model_file.h"
#include "serve/generation_plan.h"
#include "serve/onnx_runtime.h"
#include "serve/padding.h"
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
  /// That runs it; null: it is synthetic.
  [[nodiscard]] const OnnxRuntime* onnx() const { return onnx_.get(); }
  /// Where it runs; null: on the processor.
  [[nodiscard]] const Gpu* gpu() const { return onnx_ ? onnx_->gpu().get() : nullptr; }

 private:
  friend ModelSource onnx_source(std::string file, std::shared_ptr<const OnnxRuntime> onnx);
  std::string file_;
  std::shared_ptr<const OnnxRuntime> onnx_;  ///< null: synthetic
};

/// What running a model told of it.
struct Measurement {
  std::vector<TensorSpec> inputs, outputs;
  Bytes weights;
  Bytes loading;                                 ///< beside them, at most, while it was loaded
  std::vector<std::pair<int64_t, Bytes>> peaks;  ///< beside the weights once batches of that many items had run, ascending
  Duration reload;
  std::vector<batching::MeasuredBatch> batches;
  Sizes largest;                     ///< of the inputs' free dimensions: what was run
  std::vector<Shape> output_shapes;  ///< of an item, then
  std::vector<std::string> masked;   ///< as try_mask() has it
  std::optional<Duration> front;     ///< as measure_front() has it; none: not measured
};

struct MeasuredModel {
  std::vector<TensorSpec> inputs, outputs;
  batching::ModelMemory memory;
  batching::LatencyProfile latency;
  Sizes largest = {};                     ///< of the inputs' free dimensions; empty: none is free
  std::vector<Shape> output_shapes = {};  ///< of an item, with the largest
  Padding padding = {};
  std::optional<GenerationPlan> generation = {};  ///< none: each request has one answer
  std::optional<Duration> front = {};             ///< of a request, beside its batch; none: not known
};

/// A file that is an ONNX model, wherever it lies.
ModelSource onnx_source(std::string file, std::shared_ptr<const OnnxRuntime> onnx);

/// Those that the configuration names.
Sizes largest_in(const ServedModelConfig& config);

/// Opens it, runs batches up to `most_batch`, and closes it again. Memory is what this process, or the GPU's memory in use, grew by where
/// the runtime does not know: true where nothing else runs in this process, or on the GPU (see ModelMeasurer).
/// @param largest  of free dimensions; those that are not named are as large as the model runs, at most 512
Result<Measurement> run_and_measure(const ModelSource& source, int64_t most_batch, const Sizes& largest = {});
Result<MeasuredModel> facts_of(Measurement measured, const ServedModelConfig& config);
/// Both, in this process.
Result<MeasuredModel> measure_model(const ModelSource& source, const ServedModelConfig& config);

}  // namespace stint::serve
