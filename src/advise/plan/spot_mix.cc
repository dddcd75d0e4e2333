#include "advise/plan/spot_mix.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace stint {

std::vector<int64_t> spread_over_pools(std::span<const double> cost_per_unit, int64_t units, int64_t most) {
  CHECK(most >= 1, "at most {} units of a pool", most);
  std::vector<size_t> order(cost_per_unit.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost_per_unit[a] < cost_per_unit[b]; });
  std::vector<int64_t> held(cost_per_unit.size(), 0);
  for (const size_t pool : order) {
    held[pool] = std::clamp<int64_t>(units, 0, most);
    units -= held[pool];
  }
  return held;
}

double share_on_spot(double work_h, double finish_h_p90, double deadline_h, double most) {
  if (deadline_h < work_h) return 0;
  if (finish_h_p90 <= deadline_h) return most;
  return std::clamp((deadline_h - work_h) / (finish_h_p90 - work_h), 0.0, most);
}

}  // namespace stint
