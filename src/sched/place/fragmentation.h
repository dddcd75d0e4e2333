// Fragmentation: how much of a node's idle GPUs the work that is usually asked for could not use.
//
// For a typical shape, idle GPU is a fragment where the shape cannot run on the node (CPU, model, too few GPUs) or is
// CPU-only: all of the node's idle milli; else what lies on GPUs with less idle than its share. The node's fragmentation
// is the mean of that over the typical shapes, weighted by how often they are asked for.
// Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
// USENIX ATC 2023, sections 3 and 4.
//
// Counts stay whole numbers: amounts here are milli-GPU × requests, exact, and divided by the requests only at the end.
// Whether a shape can run depends on the node's model and on where its idle CPU lies among the typical shapes' requests;
// for each such pair, sums over the shapes are kept by GPU share, so that a node costs a look-up per GPU.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sched/place/placement_shape.h"

namespace stint::sched {

/// The most frequent shapes that together make up `coverage_pct` of the requests, most frequent first. Memory is left
/// out of the shapes: shapes that differ in it alone count as one.
std::vector<ShapeCount> typical_shapes(std::span<const ShapeCount> mix, int coverage_pct = 95);

class Fragmentation {
 public:
  Fragmentation() : Fragmentation(std::span<const ShapeCount>{}) {}
  explicit Fragmentation(std::span<const ShapeCount> typical);

  /// How many requests the typical shapes stand for; 0 = nothing is typical, nothing is a fragment.
  [[nodiscard]] int64_t requests() const { return requests_; }
  /// Of the node as it is, in milli-GPU × requests().
  [[nodiscard]] int64_t of(const NodeRecord& node) const;

  /// How much less of the node is a fragment (more, when negative) once the shape is there; in milli-GPU × requests().
  /// @param node  must have room for the shape. @param gpus  what it would take, as Take::gpus.
  [[nodiscard]] int64_t gain(const NodeRecord& node, const PlacementShape& shape, uint64_t gpus) const;
  /// The same for every GPU on which a shape that wants a part of one fits.
  /// @param by_gpu  of the others kImpossible. @return the largest.
  int64_t gains(const NodeRecord& node, const PlacementShape& shape, std::array<int64_t, kMaxGpusPerNode>& by_gpu) const;
  static constexpr int64_t kImpossible = std::numeric_limits<int64_t>::min();

 private:
  friend struct SnapshotParts;
  /// Sums over the typical shapes that run on one model with one rank of idle CPU.
  struct View {
    const int64_t* whole;     ///< by idle whole GPUs: requests for at most that many
    const int64_t* fraction;  ///< by rank of idle milli: requests for at most that share
  };
  [[nodiscard]] View view(int16_t model, int64_t cpu_free) const;
  [[nodiscard]] int64_t usable(const View& v, int32_t idle_milli) const;  ///< of one GPU, by shapes that want a part
  [[nodiscard]] int64_t usable(const View& v, const NodeRecord& node) const;

  int64_t requests_ = 0;
  size_t models_ = 0;                 ///< models told apart; all others are like the last
  std::vector<int64_t> cpu_steps_;    ///< ascending distinct CPU requests of GPU shapes
  std::vector<uint16_t> milli_rank_;  ///< by idle milli: how many distinct shares are at most that
  size_t fractions_ = 0;              ///< distinct shares + 1
  std::vector<int64_t> whole_;        ///< [model][cpu rank][0 … kMaxGpusPerNode]
  std::vector<int64_t> fraction_;     ///< [model][cpu rank][share rank]
};

}  // namespace stint::sched
