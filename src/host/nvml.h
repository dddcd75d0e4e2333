// NVIDIA's management library, loaded at run time: Stint builds and runs without it and says so where it is missing.
//
// Declares the few functions and structures of NVML's C ABI it calls, by hand and not from NVIDIA's header.
// Source: NVIDIA NVML API Reference Guide (docs.nvidia.com/deploy/nvml-api), "Device Queries".
#pragma once

#include <cstdint>
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

/// A part of a GPU that is partitioned by MIG, as it is now: others may make and destroy such parts at any time.
struct MigDevice {
  size_t gpu = 0;       ///< position of the whole in gpus()
  int instance = 0;     ///< of the GPU; what exporters call GPU_I_ID
  std::string profile;  ///< "2g.20gb"
  std::string uuid;     ///< "MIG-…": what CUDA_VISIBLE_DEVICES takes
  std::optional<Bytes> memory_used;
  std::optional<Bytes> memory_total;
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
  std::optional<double> encoder_pct;
  std::optional<double> decoder_pct;
  std::optional<uint64_t> throttle_reasons;  ///< bits of nvmlClocksEventReasons
  std::optional<uint64_t> ecc_double_bit;    ///< uncorrected errors since boot
  std::optional<uint64_t> xid;               ///< the last XID since the library was loaded, 0 = none
};

/// A process that computes on a GPU. `memory_used` is absent where the driver hides it (containers, WSL).
struct GpuProcess {
  int64_t pid = 0;
  std::optional<Bytes> memory_used;
  std::optional<int> mig_instance;  ///< of the GPU, that it computes on; none = the whole GPU, or not told
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
  /// Of all GPUs, by GPU, then in NVML's order. Empty where nothing is partitioned, and with drivers that know no MIG.
  /// Utilisation of one is not told by NVML: DCGM has it.
  std::vector<MigDevice> mig_devices();
  /// Takes the XID errors that have come since the last call; read() shows the last of each GPU. Does not wait.
  void take_errors();

 private:
  struct Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
