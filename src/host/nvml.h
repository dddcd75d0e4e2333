// NVIDIA's management library, loaded at run time: Stint builds and runs without it and says so where it is missing.
//
// Declares the few functions and structures of NVML's C ABI it calls, by hand and not from NVIDIA's header.
// Source: NVIDIA NVML API Reference Guide (docs.nvidia.com/deploy/nvml-api), "Device Queries".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace stint {

struct GpuIdentity {
  int index = 0;     ///< NVML's order, which is that of nvidia-smi
  std::string name;  ///< "NVIDIA A100-SXM4-80GB"
  std::string uuid;
};

/// One look at a GPU. Absent = the device or driver does not tell; never 0 in its place.
struct GpuReading {
  std::optional<double> utilization_pct;
  std::optional<double> memory_bandwidth_pct;
  std::optional<Bytes> memory_used;
  std::optional<Bytes> memory_total;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> temperature_c;
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
};

/// A process that computes on a GPU. `memory_used` is absent where the driver hides it (containers, WSL).
struct GpuProcess {
  int64_t pid = 0;
  std::optional<Bytes> memory_used;
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  /// @param library  file to load; a name without a slash is searched as the dynamic linker does.
  /// @return kUnavailable, with what to do, when there is no such library or no driver behind it.
  static Result<Nvml> load(const std::string& library = kLibrary);
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const;
  /// @param gpu  position in gpus(). @return error when the GPU is lost or the driver was unloaded.
  Result<GpuReading> read(size_t gpu);
  Result<std::vector<GpuProcess>> processes(size_t gpu);

 private:
  struct Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
