#include "ledger/slice_weight.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

/// "3g.40gb" → 3; 1 when the name does not say.
int64_t compute_slices_in(std::string_view profile) {
  const size_t g = profile.find("g.");
  size_t first = g;
  while (first != std::string_view::npos && first > 0 && profile[first - 1] >= '0' && profile[first - 1] <= '9')
    --first;
  if (g == std::string_view::npos || first == g) return 1;
  return std::clamp<int64_t>(parse_int(profile.substr(first, g - first)).value_or(1), 1, 7);
}

}  // namespace

SliceWeight slice_weight(const Device& instance, const Node& node) {
  for (const std::string* model : {&instance.model, &node.gpu_model}) {
    const MigGeometry* geometry = find_mig_geometry(*model);
    if (geometry == nullptr) continue;
    const MigProfile* profile = geometry->find_profile(instance.mig->profile);
    if (profile == nullptr) continue;
    return {geometry, geometry->index_of(*profile), geometry->parts_of(*profile) * kSliceParts / geometry->total_parts()};
  }
  return {nullptr, -1, kSliceParts / 7 * compute_slices_in(instance.mig->profile)};
}

CardRemainder::Parts CardRemainder::of(const MigGeometry& geometry, std::vector<int> profiles) {
  std::sort(profiles.begin(), profiles.end());
  const auto [it, fresh] = known_.try_emplace({&geometry, profiles});
  Parts& best = it->second;
  if (!fresh) return best;
  const auto has_media = [&](int p) { return geometry.profiles[static_cast<size_t>(p)].media; };
  const auto media = std::any_of(profiles.begin(), profiles.end(), has_media) ? MediaProfiles::kInclude : MediaProfiles::kExclude;
  bool legal = false;
  for (const MigLayout& layout : all_layouts(geometry, media)) {
    std::vector<int> here;
    for (const MigPlacement& p : layout)
      here.push_back(p.profile);
    std::sort(here.begin(), here.end());
    if (here != profiles) continue;
    const MigParts parts = parts_in(geometry, layout);
    const int64_t scale = kSliceParts / geometry.total_parts();
    if (!legal || parts.stranded * scale < best.stranded) best = {parts.available * scale, parts.stranded * scale};
    legal = true;
  }
  // Two layouts in one hour: nothing can be said of what is left, so none of it is called free.
  if (!legal) best = {0, kSliceParts};
  return best;
}

}  // namespace stint
