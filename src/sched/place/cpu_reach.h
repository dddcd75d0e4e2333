// CpuReach: how much of a node's idle GPU its idle CPU can feed.
//
// Nodes run out of CPU before they run out of GPU, and then idle GPUs are of no use. So the worth of a node's idle
// amounts is taken to be what the usual mix of work would get out of them: requests may be cut into parts, none may
// exceed its own part of the mix, and where CPU does not suffice those that ask for little CPU per GPU go first. Per
// model of GPU this is a fractional knapsack. Its value is concave: plenty of CPU has no price, and the scarcer CPU is
// beside the idle GPU, the more GPU each bit of it is worth. What a placement costs is the worth before, less the worth
// after, less the GPU placed; so work that needs much CPU goes where CPU is plentiful, without anybody saying where.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/place/placement_shape.h"

namespace stint::sched {

class CpuReach {
 public:
  CpuReach() = default;
  /// @param mix  at most 10^9 requests. Shapes without GPU do not matter here.
  explicit CpuReach(std::span<const ShapeCount> mix);

  /// Milli-GPU that would be used, 0 … idle_gpu_milli; all of it when nothing is known of the mix.
  /// @param model  NodeRecord::model, −1 = none.
  [[nodiscard]] int64_t worth(int16_t model, int64_t idle_cpu_milli, int64_t idle_gpu_milli) const;

 private:
  friend struct SnapshotParts;
  /// Sums over the requests up to and with one shape, by ascending CPU per GPU.
  struct Step {
    int64_t cpu_milli = 0;        ///< of all requests so far
    int64_t gpu_milli = 0;        ///< of all requests so far
    int64_t shape_cpu_milli = 0;  ///< of one request of this shape
    int64_t shape_gpu_milli = 1;
  };
  [[nodiscard]] const std::vector<Step>& steps_of(int16_t model) const;

  std::vector<std::vector<Step>> steps_;  ///< by model; all models not named by any shape are like the last
};

}  // namespace stint::sched
