// What every GPU of a story did in every step: the telemetry before it is dressed in a format.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/story.h"

namespace stint {

/// One GPU in one step. Where `present` is false nothing was recorded; the rest then means nothing.
struct StoryReading {
  int32_t memory_mib = 0;
  int32_t hold = -1;        ///< into StoryGpu::holds; −1 = not held
  uint16_t noise = 0;       ///< what the derived metrics jitter with
  uint8_t utilization = 0;  ///< %
  uint8_t heat = 0;         ///< % smoothed over time: temperature and power follow it
  bool present = false;
};

class StoryTrace {
 public:
  StoryTrace(const Story& story, uint64_t seed);
  /// One reading per step of the story.
  [[nodiscard]] std::span<const StoryReading> of(size_t node, size_t gpu) const { return gpus_[first_gpu_[node] + gpu]; }
  /// What every load was multiplied with on the steered nodes so that their mean is Story::steer_to_pct.
  [[nodiscard]] double steering() const { return steering_; }

 private:
  std::vector<size_t> first_gpu_;  ///< by node
  std::vector<std::vector<StoryReading>> gpus_;
  double steering_ = 1;
};

/// Mean utilisation over the recorded GPU-steps, of all nodes or of the steered ones.
enum class StoryNodes { kAll, kSteered };
double mean_utilization_pct(const Story& story, const StoryTrace& trace, StoryNodes which);

/// The metrics that follow from a reading.
struct StoryMetrics {
  double power_w = 0;
  int temperature_c = 0;
  int64_t memory_free_mib = 0;
  double sm_active = 0;  ///< 0–1, as the DCGM_FI_PROF metrics
  double dram_active = 0;
  double tensor_active = 0;
};
StoryMetrics metrics_of(const Story& story, const StoryNode& node, const StoryGpu& gpu, const StoryReading& reading);

}  // namespace stint
