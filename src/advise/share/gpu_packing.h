// Packing work onto as few GPUs as possible: into MIG instances, or side by side under MPS or time slicing.
//
// Best fit decreasing, which is optimal when it meets the lower bound; for few items an exact search closes the gap.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/mig.h"

namespace stint {

/// One GPU of a packing.
struct PackedGpu {
  std::vector<size_t> items;             ///< indexes into what was packed
  std::vector<MigPlacement> placements;  ///< per item; empty when it is not cut by MIG
};

/// The smallest instance with that much memory, compute and memory bandwidth. @param compute_share, bandwidth_share  of the GPU, 0 … 1.
/// @return index into geometry.profiles; none when not even the largest suffices.
std::optional<int> smallest_profile(const MigGeometry& geometry, Bytes memory, double compute_share, double bandwidth_share = 0);

/// @param profiles  one per item, indexes into geometry.profiles. @return every item once, legal layouts only.
std::vector<PackedGpu> pack_mig(const MigGeometry& geometry, std::span<const int> profiles);

/// Work that would share a GPU without walls.
struct Roommate {
  std::string trust;   ///< only equal, non-empty ones may share; "" = alone
  double memory = 0;   ///< share of the GPU's memory
  double compute = 0;  ///< share of the GPU's time
};
inline constexpr double kSharedMemoryLimit = 0.90;
inline constexpr double kSharedComputeLimit = 0.70;
std::vector<PackedGpu> pack_shared(std::span<const Roommate> items);

}  // namespace stint
