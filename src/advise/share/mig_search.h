// The exact plan of a few GPUs: GPU by GPU over all patterns, remembering the best way to each sum of counts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "advise/share/mig_patterns.h"

namespace stint {

struct MigSearchResult {
  std::vector<MigLayout> layouts;  ///< per GPU
  MigCounts placed{};              ///< of what is wanted
  int64_t slices = 0;              ///< of it
  int64_t kept_slices = 0;         ///< of what runs, left where it is
};

/// All that runs is placed somewhere; of what is wanted most slices; then most of what runs is left where it is; then the pattern
/// sums that come first. @param options  per GPU, from MigPatterns::options.
MigSearchResult search_mig(const MigGeometry& geometry, std::span<const std::vector<MigOption>* const> options,
                           const MigCounts& running, const MigCounts& wanted);

}  // namespace stint
