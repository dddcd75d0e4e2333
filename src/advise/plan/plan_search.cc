#include "advise/plan/plan_search.h"

#include <numeric>
#include <set>
#include <tuple>

namespace stint {

bool for_each_left_out(size_t most, const std::function<std::vector<std::string>(const LeftOut&)>& visit) {
  std::set<LeftOut> level = {{}};
  size_t visited = 0;
  while (!level.empty()) {
    std::set<LeftOut> next;
    for (const LeftOut& without : level) {
      if (visited == most) return false;
      ++visited;
      for (const std::string& id : visit(without)) {
        LeftOut more = without;
        more.insert(std::ranges::upper_bound(more, id), id);
        next.insert(std::move(more));
      }
    }
    level = std::move(next);
  }
  return true;
}

std::vector<size_t> best_marks(std::span<const FrontMark> marks, double step_s) {
  std::vector<size_t> order(marks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::tuple(marks[a].cost, marks[a].time_s, marks[a].left_out) <
           std::tuple(marks[b].cost, marks[b].time_s, marks[b].left_out);
  });
  std::vector<size_t> kept;
  for (const size_t i : order)
    if (kept.empty() || marks[i].time_s < marks[kept.back()].time_s - step_s) kept.push_back(i);
  return kept;
}

}  // namespace stint
