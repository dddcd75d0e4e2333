// ONNX models on ONNX Runtime ≥ 1.20, loaded at run time through its C ABI: Stint builds without it and says where it is missing.
//
// On the processor or on a GPU (its CUDA provider, where the library has it), one intra-op thread: instances scale where threads only
// fight for cores. Inputs and outputs are host memory in either case.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "serve/gpu.h"
#include "serve/runtime.h"

namespace stint::serve {

class OnnxRuntime {
 public:
  static constexpr const char* kLibrary = "libonnxruntime.so";
  /// @param library  file to load; a name without a slash is searched as the dynamic linker does.
  /// @return kUnavailable, with what to do, when it is missing or too old.
  static Result<OnnxRuntime> load(const std::string& library = kLibrary);
  /// The same library for models on a GPU, once a small one has run there.
  /// @return kUnavailable, with what to do, when the library has no CUDA provider, or it or the GPU does not start
  [[nodiscard]] Result<OnnxRuntime> on_gpu(const GpuOptions& options) const;
  /// The same library for models on the processor.
  [[nodiscard]] OnnxRuntime on_processor() const { return OnnxRuntime(library_); }
  /// Runs the smallest model there is: a provider may load and yet not compute.
  [[nodiscard]] Status try_out() const;
  /// `1.20.1`
  [[nodiscard]] std::string version() const;
  /// As it was given to load().
  [[nodiscard]] const std::string& library() const;
  /// Where models run; null: on the processor.
  [[nodiscard]] const std::shared_ptr<const Gpu>& gpu() const { return gpu_; }
  /// `CPUExecutionProvider` …, those that the library was built with.
  [[nodiscard]] Result<std::vector<std::string>> providers() const;
  /// @param model  bytes of an .onnx file: tensors of the types in DataType whose first dimension is free and whose others are fixed.
  /// @param name  for messages. The runtime made may outlive this object.
  Result<std::unique_ptr<Runtime>> open(std::string_view model, const std::string& name) const;

  /// The same from a file. Weights that lie in files beside it are found there.
  [[nodiscard]] Result<std::unique_ptr<Runtime>> open_file(const std::string& file) const;

  struct Library;

 private:
  explicit OnnxRuntime(std::shared_ptr<const Library> library) : library_(std::move(library)) {}

  std::shared_ptr<const Library> library_;  // shared with the sessions, which call into it
  std::shared_ptr<const Gpu> gpu_;
};

/// @param library  as the user named it; empty: $STINT_ONNXRUNTIME, else where the linker looks.
Result<OnnxRuntime> load_onnxruntime(const std::string& library);

}  // namespace stint::serve
