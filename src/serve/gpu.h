// A GPU that models run on: which one, and what of its memory is in use.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "host/cuda.h"
#include "host/memory_use.h"

namespace stint::serve {

struct GpuOptions {
  int number = 0;             ///< as CUDA counts
  std::optional<Bytes> most;  ///< that a model's arena may take
};

class Gpu {
 public:
  /// @param library  of the CUDA driver. @return kUnavailable when there is no driver or no such GPU
  static Result<std::shared_ptr<Gpu>> open(const GpuOptions& options, const std::string& library = Cuda::kLibrary);
  [[nodiscard]] const GpuOptions& options() const { return options_; }
  /// Of the whole GPU: what is used, whoever uses it, and as `own` what has come since it was opened. Any thread.
  /// @param limit  in place of all there is.
  [[nodiscard]] Result<MemoryUse> memory(std::optional<Bytes> limit) const;

 private:
  Gpu(const GpuOptions& options, Cuda cuda) : options_(options), cuda_(std::move(cuda)) {}

  const GpuOptions options_;
  Bytes used_before_;
  mutable std::mutex mutex_;
  mutable Cuda cuda_;
};

}  // namespace stint::serve
