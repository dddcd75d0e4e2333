#include "advise/share/mig_search.h"

#include <map>

#include "base/check.h"

namespace stint {
namespace {

/// The best way to a sum of counts with the first GPUs.
struct Way {
  int64_t kept = -1;
  const MigOption* option = nullptr;  // of the last GPU
  MigCounts before{};
};
using Ways = std::map<MigCounts, Way>;

}  // namespace

MigSearchResult search_mig(const MigGeometry& geometry, std::span<const std::vector<MigOption>* const> options,
                           const MigCounts& running, const MigCounts& wanted) {
  const MigCounts most = plus(running, wanted);
  std::vector<Ways> stages(options.size() + 1);
  stages[0][MigCounts{}] = {0, nullptr, {}};
  for (size_t g = 0; g < options.size(); ++g)
    for (const auto& [sum, way] : stages[g])
      for (const MigOption& option : *options[g]) {
        const MigCounts next = plus(sum, option.counts);
        if (!fits_within(next, most)) continue;
        Way& known = stages[g + 1][next];
        if (way.kept + option.kept_slices > known.kept) known = {way.kept + option.kept_slices, &option, sum};
      }
  MigSearchResult result;
  const MigCounts* best = nullptr;
  int64_t best_slices = -1;
  for (const auto& [sum, way] : stages.back()) {
    if (!fits_within(running, sum)) continue;
    const int64_t slices = slices_of(geometry, sum);
    if (slices < best_slices || (slices == best_slices && way.kept <= result.kept_slices)) continue;
    best = &sum;
    best_slices = slices;
    result.kept_slices = way.kept;
  }
  CHECK(best != nullptr, "what runs on {} GPUs fits on them", options.size());
  result.placed = minus(*best, running);
  result.slices = slices_of(geometry, result.placed);
  result.layouts.resize(options.size());
  MigCounts sum = *best;
  for (size_t g = options.size(); g > 0; --g) {
    const Way& way = stages[g].at(sum);
    result.layouts[g - 1] = way.option->layout;
    sum = way.before;
  }
  return result;
}

}  // namespace stint
