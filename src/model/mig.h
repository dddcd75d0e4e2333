// MIG geometry: which GPU instances fit together on one GPU, and what share of it each one is.
//
// A GPU has compute slices (7; A30: 4) and memory slices (8; A30: 4). A profile takes some of both and may
// start only at certain memory slices; that table, not the arithmetic of slices, decides what is legal: two
// 3g instances use all eight memory slices although a compute slice is left, and seven 1g instances leave
// memory slice 7 to none.
// Source: NVIDIA Multi-Instance GPU User Guide, "Supported MIG Profiles", and the placements that
// `nvidia-smi mig -lgipp` prints.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/occupancy.h"

namespace stint {

/// A kind of GPU instance a GPU can be cut into.
struct MigProfile {
  std::string name;  ///< as NVIDIA writes it: "1g.10gb", "1g.10gb+me"
  int compute_slices = 0;
  int memory_slices = 0;
  Bytes memory;             ///< at least this much is usable; see kEightSlice in mig.cc for the origin
  bool media = false;       ///< "+me": takes the media extensions, which a GPU has once
  int max_count = 0;        ///< instances of this profile on one GPU
  std::vector<int> starts;  ///< memory slices it may start at, ascending
};

struct MigGeometry {
  std::string gpu_model;  ///< canonical catalogue name
  int compute_slices = 0;
  int memory_slices = 0;
  std::vector<MigProfile> profiles;  ///< ascending by size; "+me" after its plain twin

  /// Equal parts the GPU is counted in; a slice's share is a whole number of them. 112, A30: 8.
  [[nodiscard]] int64_t total_parts() const;
  /// The mean of compute share and memory share, exactly: (8c + 7m) of 112; A30: (c + m) of 8.
  [[nodiscard]] int64_t parts_of(const MigProfile& profile) const;
  [[nodiscard]] GpuShare share_of(const MigProfile& profile) const { return GpuShare::of(parts_of(profile), total_parts()); }
  /// "1g.10gb", also as "MIG 1g.10gb", "mig-1g.10gb", "1g.10gb.me", or a compute instance "1c.3g.40gb" of it.
  /// nullptr when this GPU has no such profile.
  [[nodiscard]] const MigProfile* find_profile(std::string_view name) const;
  [[nodiscard]] int index_of(const MigProfile& profile) const;
};

/// One instance on a GPU: profile (index into MigGeometry::profiles) and first memory slice.
struct MigPlacement {
  int start = 0;
  int profile = 0;
  auto operator<=>(const MigPlacement&) const = default;
};
/// Ascending by start.
using MigLayout = std::vector<MigPlacement>;

enum class MediaProfiles { kExclude, kInclude };

/// The GPUs Stint knows the geometry of.
std::span<const MigGeometry> mig_geometries();
/// By canonical catalogue name, without case. nullptr: no MIG, or its geometry is not known.
const MigGeometry* find_mig_geometry(std::string_view gpu_model);

/// Thousandths of a GPU that an instance is by its compute slices, rounded down. Of a model whose geometry is not known, or a profile it does
/// not have: by the number in its name, of seven slices, as most have. At least one slice, at most all.
int64_t compute_milli(std::string_view gpu_model, std::string_view profile);

/// @param layout  in any order. @return error saying which rule is broken and where.
Status check_layout(const MigGeometry& geometry, std::span<const MigPlacement> layout);

/// Every placement that can be added to a legal layout, ascending.
std::vector<MigPlacement> placements_left(const MigGeometry& geometry, std::span<const MigPlacement> layout,
                                          MediaProfiles media = MediaProfiles::kInclude);

/// Every legal layout, each once, the empty one first, in lexicographic order of placements.
std::vector<MigLayout> all_layouts(const MigGeometry& geometry, MediaProfiles media = MediaProfiles::kInclude);
/// Those nothing can be added to.
std::vector<MigLayout> maximal_layouts(const MigGeometry& geometry, MediaProfiles media = MediaProfiles::kInclude);

/// What a layout's instances hold, what could still be given out, and what cannot; the three sum to total_parts().
struct MigParts {
  int64_t used = 0;
  int64_t available = 0;  ///< the best legal addition
  int64_t stranded = 0;   ///< free, but no further instance can have it
};
/// Searches the additions: once per layout, not once per hour. @param layout  legal.
MigParts parts_in(const MigGeometry& geometry, std::span<const MigPlacement> layout);

/// `parts` of `total` in ledger parts, rounded down: shares of one GPU never sum to more than the GPU.
DeviceParts device_parts(int64_t parts, int64_t total);

/// "3 × 2g.20gb + 1 × 1g.10gb", largest first; "nothing" for the empty layout.
std::string describe(const MigGeometry& geometry, std::span<const MigPlacement> layout);

}  // namespace stint
