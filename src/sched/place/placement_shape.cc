#include "sched/place/placement_shape.h"

#include <algorithm>
#include <bit>

namespace stint::sched {

size_t models_told_apart(std::span<const ShapeCount> mix) {
  int models = 0;
  for (const ShapeCount& s : mix)
    if (s.shape.wants_gpu() && s.shape.models != kAnyModel)
      models = std::max(models, static_cast<int>(std::bit_width(s.shape.models)));
  return static_cast<size_t>(models) + 1;
}

}  // namespace stint::sched
