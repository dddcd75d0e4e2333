// Packing replay: pods arrive one after the other and never leave; how much of the GPUs does a policy fill?
//
// The protocol of FGD's evaluation (Weng et al., USENIX ATC 2023, section 6): a pod that fits nowhere is dropped; one that
// fits is placed. What is allocated "at 130 %" is the mean over the arrivals after which the GPU asked for so far, rounded
// to a whole per cent of the fleet's GPUs, is 130 %.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/pod_trace.h"
#include "sched/place/placement_index.h"

namespace stint::sim {

/// Nodes in order of name, pods as interned shapes: what all replays of one trace share.
class PackingTrace {
 public:
  /// @return error when there are no GPUs, or more than 63 models of GPU.
  static Result<PackingTrace> create(std::vector<PodTraceNode> nodes, std::span<const PodTracePod> pods);

  [[nodiscard]] const sched::NodeTable& nodes() const { return nodes_; }
  [[nodiscard]] int64_t gpus() const { return gpus_; }
  [[nodiscard]] std::span<const sched::ShapeCount> mix() const { return mix_; }
  [[nodiscard]] sched::RequestId request_of(uint32_t pod) const { return request_of_pod_[pod]; }
  [[nodiscard]] const sched::PlacementShape& shape(sched::RequestId r) const { return mix_[r.index()].shape; }

 private:
  sched::NodeTable nodes_;
  int64_t gpus_ = 0;
  std::vector<sched::ShapeCount> mix_;  ///< by RequestId
  std::vector<sched::RequestId> request_of_pod_;
};

struct PackingResult {
  int64_t pods = 0;
  int64_t placed = 0;
  int64_t failed = 0;
  // GPU allocated, in per cent of the fleet's, when that much of it has been asked for; nullopt = it never was.
  std::optional<double> allocated_pct_100;
  std::optional<double> allocated_pct_120;
  std::optional<double> allocated_pct_130;
  /// FGD's measure over all nodes by the pods' typical shapes, in per cent of the idle GPU, at the end.
  double fragmentation_pct_of_idle = 0;
};

/// @param arrivals  indexes of pods. @param seed  of Placement::kRandom.
PackingResult replay_packing(const PackingTrace& trace, std::span<const uint32_t> arrivals, sched::Placement policy,
                             uint64_t seed);

}  // namespace stint::sim
