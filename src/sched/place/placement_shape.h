// PlacementShape: what placement needs to know of a request, small enough to be compared with thousands of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sched/place/node_table.h"

namespace stint::sched {

/// Models by their bit: NodeRecord::model is the number of the bit, below 64.
inline constexpr uint64_t kAnyModel = ~uint64_t{0};

/// At most one of `gpus` and `milli` is set; none = CPU only, which runs on any node, with GPUs or without.
struct PlacementShape {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int16_t gpus = 0;             ///< whole GPUs of one node
  int16_t milli = 0;            ///< of ONE GPU, 1 … 999
  uint64_t models = kAnyModel;  ///< GPU models that will do; not looked at when no GPU is asked for

  [[nodiscard]] bool wants_gpu() const { return gpus > 0 || milli > 0; }
  /// Milli of GPU in all.
  [[nodiscard]] int32_t gpu_milli() const { return milli > 0 ? milli : gpus * kMilli; }
  auto operator<=>(const PlacementShape&) const = default;
};

/// How often a shape is asked for.
struct ShapeCount {
  PlacementShape shape;
  int64_t count = 0;
};

/// Models up to the last that some shape names, and one that stands for all beyond, which are alike.
size_t models_told_apart(std::span<const ShapeCount> mix);
/// @param model  0 … models_told_apart() − 1.
[[nodiscard]] inline bool runs_on(const PlacementShape& shape, size_t model, size_t models) {
  return model + 1 < models ? (shape.models >> model & 1) != 0 : shape.models == kAnyModel;
}

/// Has the node room for it now?
[[nodiscard]] inline bool fits(const NodeRecord& node, const PlacementShape& shape) {
  if (!node.usable || node.tasks_free <= 0 || node.cpu_free < shape.cpu_milli || node.memory_free < shape.memory_bytes)
    return false;
  if (!shape.wants_gpu()) return true;
  if (node.model < 0 || (shape.models >> node.model & 1) == 0) return false;
  if (shape.gpus > 0) return node.whole_free >= shape.gpus;
  for (size_t g = 0; g < static_cast<size_t>(node.gpus); ++g)
    if (node.gpu_free[g] >= shape.milli) return true;
  return false;
}

}  // namespace stint::sched
