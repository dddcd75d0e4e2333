// ONNX models on ONNX Runtime ≥ 1.20, loaded at run time through its C ABI: Stint builds without it and says where it is missing.
//
// CPU, one intra-op thread: instances scale where threads only fight for cores.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "serve/runtime.h"

namespace stint::serve {

class OnnxRuntime {
 public:
  static constexpr const char* kLibrary = "libonnxruntime.so";
  /// @param library  file to load; a name without a slash is searched as the dynamic linker does.
  /// @return kUnavailable, with what to do, when it is missing or too old.
  static Result<OnnxRuntime> load(const std::string& library = kLibrary);
  /// `1.20.1`
  [[nodiscard]] std::string version() const;
  /// @param model  bytes of an .onnx file: tensors of the types in DataType whose first dimension is free and whose others are fixed.
  /// @param name  for messages. The runtime made may outlive this object.
  Result<std::unique_ptr<Runtime>> open(std::string_view model, const std::string& name) const;

  struct Library;

 private:
  explicit OnnxRuntime(std::shared_ptr<const Library> library) : library_(std::move(library)) {}
  std::shared_ptr<const Library> library_;  // shared with the sessions, which call into it
};

/// @param library  as the user named it; empty: $STINT_ONNXRUNTIME, else where the linker looks.
Result<OnnxRuntime> load_onnxruntime(const std::string& library);

}  // namespace stint::serve
