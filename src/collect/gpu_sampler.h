// What this machine's GPUs are doing right now: from NVML, or from nvidia-smi where the library is out of reach.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "host/nvml.h"
#include "model/metric.h"

namespace stint {

/// One look at a GPU and the processes on it.
struct GpuLook {
  Result<GpuReading> reading;
  Result<std::vector<GpuProcess>> processes;
};

class GpuSampler {
 public:
  struct Options {
    std::string nvml_library = Nvml::kLibrary;
    std::string nvidia_smi = "nvidia-smi";      ///< program, searched in PATH
    Duration patience = Duration::seconds(30);  ///< with that program
  };
  virtual ~GpuSampler() = default;
  /// @return kUnavailable when neither answers, with both reasons.
  static Result<std::unique_ptr<GpuSampler>> open(const Options& options);

  /// "NVML" or "nvidia-smi".
  [[nodiscard]] virtual std::string_view source() const = 0;
  [[nodiscard]] virtual const std::vector<GpuIdentity>& gpus() const = 0;
  /// One reading per GPU, in the order of gpus().
  virtual Result<std::vector<GpuReading>> read() = 0;
  /// The same with what computes there; a GPU that does not answer hides no other.
  virtual Result<std::vector<GpuLook>> look() = 0;
  /// Parts of those that are partitioned, as they are now.
  virtual std::vector<MigDevice> mig_devices() { return {}; }
};

/// Which metric a field of a reading is, in the metric's unit.
struct ReadingField {
  Metric metric;
  std::optional<double> (*get)(const GpuReading&);
};
std::span<const ReadingField> reading_fields();

/// A line of `nvidia-smi --query-gpu=kSmiQuery --format=csv,noheader,nounits`.
inline constexpr std::string_view kSmiQuery =
    "index,name,uuid,utilization.gpu,utilization.memory,memory.used,memory.total,power.draw,enforced.power.limit,temperature.gpu,"
    "clocks.sm,clocks.mem";
struct SmiLine {
  GpuIdentity gpu;
  GpuReading reading;
};
Result<SmiLine> parse_smi_line(std::string_view line);

/// A line of `nvidia-smi --query-compute-apps=kSmiProcessQuery --format=csv,noheader,nounits`.
inline constexpr std::string_view kSmiProcessQuery = "gpu_uuid,pid,used_memory";
struct SmiProcess {
  std::string gpu_uuid;
  GpuProcess process;
};
Result<SmiProcess> parse_smi_process(std::string_view line);

}  // namespace stint
