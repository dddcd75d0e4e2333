// Patterns: which counts of profiles fit on one GPU together, and the layouts that hold them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/mig.h"

namespace stint {

/// How many instances of each profile, by index into MigGeometry::profiles. No geometry has more profiles than this.
inline constexpr size_t kMostMigProfiles = 8;
using MigCounts = std::array<int, kMostMigProfiles>;

MigCounts counts_of(std::span<const MigPlacement> layout);
/// Every entry of `part` is at most that of `whole`.
bool fits_within(const MigCounts& part, const MigCounts& whole);
MigCounts plus(MigCounts a, const MigCounts& b);
MigCounts minus(MigCounts a, const MigCounts& b);
/// Compute slices.
int64_t slices_of(const MigGeometry& geometry, const MigCounts& counts);

/// A pattern with the layout of it that leaves most of what runs where it is.
struct MigOption {
  MigCounts counts{};
  int64_t kept_slices = 0;
  MigLayout layout;
};

class MigPatterns {
 public:
  /// @param most  profiles it is 0 for do not occur; none occurs more often than it says.
  MigPatterns(const MigGeometry& geometry, const MigCounts& most);

  [[nodiscard]] const MigGeometry& geometry() const { return geometry_; }
  /// One option per pattern, ascending by counts; running instances may go.
  [[nodiscard]] std::vector<MigOption> options(const MigLayout& running) const;
  /// Those that keep all that runs and to which nothing can be added; counts are of what is added.
  [[nodiscard]] std::vector<MigOption> additions(const MigLayout& running) const;
  /// Patterns of empty GPUs that no other pattern contains.
  [[nodiscard]] std::vector<MigCounts> largest() const;

 private:
  const MigGeometry& geometry_;
  std::vector<MigLayout> layouts_;
};

}  // namespace stint
