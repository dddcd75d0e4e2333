// What this machine's GPUs are doing right now: from NVML, or from nvidia-smi where the library is out of reach.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/nvml.h"

namespace stint {

class GpuSampler {
 public:
  struct Options {
    std::string nvml_library = Nvml::kLibrary;
    std::string nvidia_smi = "nvidia-smi";  ///< program, searched in PATH
  };
  virtual ~GpuSampler() = default;
  /// @return kUnavailable when neither answers, with both reasons.
  static Result<std::unique_ptr<GpuSampler>> open(const Options& options);

  /// "NVML" or "nvidia-smi".
  [[nodiscard]] virtual std::string_view source() const = 0;
  [[nodiscard]] virtual const std::vector<GpuIdentity>& gpus() const = 0;
  /// One reading per GPU, in the order of gpus().
  virtual Result<std::vector<GpuReading>> read() = 0;
};

/// A line of `nvidia-smi --query-gpu=kSmiQuery --format=csv,noheader,nounits`.
inline constexpr std::string_view kSmiQuery =
    "index,name,uuid,utilization.gpu,utilization.memory,memory.used,memory.total,power.draw,enforced.power.limit,temperature.gpu,"
    "clocks.sm,clocks.mem";
struct SmiLine {
  GpuIdentity gpu;
  GpuReading reading;
};
Result<SmiLine> parse_smi_line(std::string_view line);

}  // namespace stint
