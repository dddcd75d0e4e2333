// A MIG plan: how to cut GPUs so that most of what is asked for is placed, and least of what runs has to move.
//
// Up to kExactMigGpus GPUs are planned exactly. More are filled without moving anything, by patterns (which profiles a GPU holds)
// improved in pairs; what is left over then asks pairs of GPUs to be repartitioned, exactly within the pair. Whatever the plan is, its
// bound is certified: no plan places more (advise/share/mig_bound.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/mig.h"

namespace stint {

/// A running instance that has to be stopped and made anew.
struct MigMove {
  size_t from_gpu = 0;
  MigPlacement from;
  size_t to_gpu = 0;
  MigPlacement to;
  bool operator==(const MigMove&) const = default;
};

struct MigPlan {
  std::vector<MigLayout> layouts;  ///< one per GPU, legal: all that runs, and what is placed
  std::vector<int> placed;         ///< of what is wanted, by profile
  std::vector<MigMove> moves;      ///< ascending by where they come from
  int64_t slices = 0;              ///< compute slices placed of what is wanted
  int64_t bound = 0;               ///< no plan places more
  int64_t moved_slices = 0;        ///< compute slices of what has to move
  bool least_moves = false;        ///< proven: no plan that places as much moves less
  [[nodiscard]] bool optimal() const { return slices == bound; }
};

inline constexpr size_t kExactMigGpus = 3;

/// @param running  one legal layout per GPU of this geometry; empty = nothing runs there.
/// @param wanted   how many more instances of each profile, ≥ 0, by index into geometry.profiles.
/// @return deterministic; of what places most slices, within what it can prove or find, what moves fewest; of that, what cuts fewest GPUs
/// on which nothing runs.
MigPlan plan_mig(const MigGeometry& geometry, std::span<const MigLayout> running, std::span<const int> wanted);

/// What first fit places without moving anything: each request in order on the first GPU and lowest start that takes it.
/// @param requests  profiles in order of arrival. `bound` is left 0.
MigPlan first_fit_mig(const MigGeometry& geometry, std::span<const MigLayout> running, std::span<const int> requests);

}  // namespace stint
