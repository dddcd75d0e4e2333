// What a GPU really does: arithmetic and memory rates measured through the CUDA driver, loaded at run time.
//
// Needs neither CUDA to build nor its toolkit to run: the driver's libcuda.so.1 compiles a small kernel given as PTX.
// Matrix rates come from cuBLAS where it is installed; where it is not, the figure is absent and the reason is told.
// Source: NVIDIA CUDA Driver API reference manual; PTX ISA.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace stint {

struct CudaGpu {
  std::string name;  ///< "NVIDIA A100-SXM4-80GB"
  Bytes memory;
};

/// Of a whole GPU, whichever process uses it.
struct CudaMemory {
  Bytes used, total;
};

struct BenchOptions {
  int repeats = 9;                       ///< odd, so that the median is one of them; after three that warm up
  Bytes copy = Bytes::gibi(int64_t{1});  ///< copied within the GPU in one repeat; well above its caches
  int matrix = 8192;                     ///< rows and columns of the square matrices multiplied
  std::string cublas;                    ///< library to load; empty = libcublas.so.13, .12, .11
};

/// One rate, over the repeats.
struct BenchFigure {
  std::string rate;  ///< "fp32_tflops", "tf32_tflops", "16bit_tflops" (10¹²/s), "memory_gb_s" (10⁹ bytes/s, read and written)
  double median = 0;
  double lowest = 0;
  double highest = 0;
};

struct BenchResult {
  std::vector<BenchFigure> figures;
  std::vector<std::string> absent;  ///< what was not measured, and why
};

class Cuda {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";
  /// @return kUnavailable, with what to do, when there is no such library, no driver behind it or no GPU.
  static Result<Cuda> load(const std::string& library = kLibrary);
  Cuda(Cuda&&) noexcept;
  Cuda& operator=(Cuda&&) noexcept;
  ~Cuda();

  [[nodiscard]] const std::vector<CudaGpu>& gpus() const;
  /// The first call takes some hundred MiB of the GPU for a context, which is kept until this object ends and counts as used.
  /// @param gpu  position in gpus().
  Result<CudaMemory> memory(size_t gpu);
  /// Keeps the GPU busy for some seconds. Other work on it makes the figures lower.
  /// @param gpu  position in gpus(). @return error when the driver refuses, such as for want of memory.
  Result<BenchResult> measure(size_t gpu, const BenchOptions& options);

 private:
  struct Impl;
  explicit Cuda(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
