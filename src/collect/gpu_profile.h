// The samples of one profiled run and their summary per GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "codec/sink.h"
#include "host/nvml.h"

namespace stint {

/// Mean, median and 95th percentile (nearest rank), and the largest.
struct Distribution {
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double max = 0;
};
/// none when there are no values.
std::optional<Distribution> distribution_of(std::vector<double> values);

struct GpuSummary {
  GpuIdentity gpu;
  size_t samples = 0;  ///< looks at the GPU that were answered
  std::optional<Distribution> utilization_pct;
  std::optional<Distribution> memory_used_bytes;
  std::optional<Bytes> memory_total;
  std::optional<Distribution> power_w;
};

class GpuProfile {
 public:
  explicit GpuProfile(std::vector<GpuIdentity> gpus) : gpus_(std::move(gpus)) {}
  /// @param readings  one per GPU. Times ascend.
  void add(Instant at, std::vector<GpuReading> readings);
  [[nodiscard]] size_t looks() const { return looks_.size(); }
  [[nodiscard]] std::vector<GpuSummary> summaries() const;
  /// All samples as series of devices of `node`.
  void write(const std::string& node, Sink& sink) const;

 private:
  struct Look {
    Instant at;
    std::vector<GpuReading> readings;
  };
  std::vector<GpuIdentity> gpus_;
  std::vector<Look> looks_;
};

}  // namespace stint
