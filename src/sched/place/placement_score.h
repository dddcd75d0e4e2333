// Placement policies: a whole number per node that fits, larger is better, and the GPUs to take there.
//
// Ties go to the node with the smaller id, so the order in which nodes are added is part of a policy: FGD and best fit
// fill nodes one after the other because of it. Sources at each policy in placement_score.cc.
#pragma once

#include <cstdint>
#include <span>

#include "sched/place/cpu_reach.h"
#include "sched/place/fragmentation.h"
#include "sched/place/placement_shape.h"
#include "sched/policy.h"

namespace stint::sched {

/// Score of a node on which the shape does not fit; all others are >= 0.
inline constexpr int32_t kNoFit = -1;

class PlacementScorer {
 public:
  /// Placement::kRandom gives every node that fits the same score: whoever asks draws among them.
  explicit PlacementScorer(Placement policy) : policy_(policy) {}
  [[nodiscard]] Placement policy() const { return policy_; }

  /// What is asked for, and how often; scores from before no longer hold. Matters to kFgd and kStint only.
  void expect(std::span<const ShapeCount> mix);

  /// @return kNoFit when the node has no room for it.
  [[nodiscard]] int32_t score(const NodeRecord& node, const PlacementShape& shape) const;
  /// The GPUs to take on a node that fits: a mask of whole ones, or of the one of which a part is taken; 0 = none asked for.
  [[nodiscard]] uint64_t choose_gpus(const NodeRecord& node, const PlacementShape& shape) const;

 private:
  friend struct SnapshotParts;
  Placement policy_;
  Fragmentation fragmentation_;
  CpuReach reach_;
};

}  // namespace stint::sched
