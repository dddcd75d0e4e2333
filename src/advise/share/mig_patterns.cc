#include "advise/share/mig_patterns.h"

#include <algorithm>
#include <map>

namespace stint {
namespace {

void drop_dominated(std::vector<MigOption>& options) {
  std::vector<MigOption> kept;
  for (const MigOption& option : options) {
    const bool dominated = std::any_of(options.begin(), options.end(), [&](const MigOption& other) {
      return other.counts != option.counts && fits_within(option.counts, other.counts);
    });
    if (!dominated) kept.push_back(option);
  }
  options = std::move(kept);
}

}  // namespace

MigCounts counts_of(std::span<const MigPlacement> layout) {
  MigCounts counts{};
  for (const MigPlacement& p : layout)
    ++counts[static_cast<size_t>(p.profile)];
  return counts;
}

bool fits_within(const MigCounts& part, const MigCounts& whole) {
  for (size_t p = 0; p < part.size(); ++p)
    if (part[p] > whole[p]) return false;
  return true;
}

MigCounts plus(MigCounts a, const MigCounts& b) {
  for (size_t p = 0; p < a.size(); ++p)
    a[p] += b[p];
  return a;
}

MigCounts minus(MigCounts a, const MigCounts& b) {
  for (size_t p = 0; p < a.size(); ++p)
    a[p] -= b[p];
  return a;
}

int64_t slices_of(const MigGeometry& geometry, const MigCounts& counts) {
  int64_t slices = 0;
  for (size_t p = 0; p < geometry.profiles.size(); ++p)
    slices += int64_t{counts[p]} * geometry.profiles[p].compute_slices;
  return slices;
}

MigPatterns::MigPatterns(const MigGeometry& geometry, const MigCounts& most) : geometry_(geometry) {
  bool media = false;
  for (size_t p = 0; p < geometry.profiles.size(); ++p)
    media = media || (geometry.profiles[p].media && most[p] > 0);
  layouts_ = all_layouts(geometry, media ? MediaProfiles::kInclude : MediaProfiles::kExclude);
  std::erase_if(layouts_, [&](const MigLayout& layout) { return !fits_within(counts_of(layout), most); });
}

std::vector<MigOption> MigPatterns::options(const MigLayout& running) const {
  std::map<MigCounts, MigOption> best;
  for (const MigLayout& layout : layouts_) {
    int64_t kept = 0;
    for (const MigPlacement& p : layout)
      if (std::find(running.begin(), running.end(), p) != running.end())
        kept += geometry_.profiles[static_cast<size_t>(p.profile)].compute_slices;
    const MigCounts counts = counts_of(layout);
    const auto [it, fresh] = best.try_emplace(counts, MigOption{counts, kept, layout});
    if (!fresh && kept > it->second.kept_slices) it->second = {counts, kept, layout};
  }
  std::vector<MigOption> options;
  for (auto& [counts, option] : best)
    options.push_back(std::move(option));
  return options;
}

std::vector<MigOption> MigPatterns::additions(const MigLayout& running) const {
  std::map<MigCounts, MigOption> best;
  const MigCounts there = counts_of(running);
  for (const MigLayout& layout : layouts_) {
    const bool keeps_all = std::all_of(running.begin(), running.end(), [&](const MigPlacement& p) {
      return std::find(layout.begin(), layout.end(), p) != layout.end();
    });
    if (!keeps_all) continue;
    const MigCounts added = minus(counts_of(layout), there);
    best.try_emplace(added, MigOption{added, slices_of(geometry_, there), layout});
  }
  std::vector<MigOption> options;
  for (auto& [counts, option] : best)
    options.push_back(std::move(option));
  drop_dominated(options);
  return options;
}

std::vector<MigCounts> MigPatterns::largest() const {
  std::vector<MigCounts> patterns;
  for (const MigOption& option : additions({}))
    patterns.push_back(option.counts);
  return patterns;
}

}  // namespace stint
