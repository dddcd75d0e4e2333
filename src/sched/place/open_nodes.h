// What may be taken right now: GPUs that are free and not promised, per node and by bucket, kept up to date from
// the change logs of the cluster's tables. Answers for plain shapes without looking at nodes.
#pragma once

#include <cstdint>
#include <optional>

#include "sched/place/node_buckets.h"
#include "sched/shape.h"

namespace stint::sched {

class OpenNodes {
 public:
  /// Takes in what changed in the cluster since the last call.
  void catch_up(const Cluster& cluster);

  /// Would all (or, elastic, at least the minimum) of a plain shape's tasks fit, each on the fullest node that takes it?
  [[nodiscard]] bool fits(const Shape& shape) const {
    return shape.tasks == 1 ? buckets_.any_from(shape.parts.front().gpus) : fits(shape, buckets_.counts());
  }
  /// The same on given counts of nodes by free GPUs.
  [[nodiscard]] static bool fits(const Shape& shape, const NodeBuckets::Counts& counts);
  /// Would all of its tasks?
  [[nodiscard]] static bool fits_whole(const Shape& shape, const NodeBuckets::Counts& counts);
  /// The fullest node with `gpus` open GPUs, of those the smallest id. Not valid = none.
  [[nodiscard]] NodeId best_fit(int32_t gpus) const { return buckets_.best_fit(gpus); }
  /// The node's open GPUs with the smallest indexes. @param gpus  not more than are open.
  [[nodiscard]] static uint64_t first_gpus(const Cluster& cluster, NodeId n, int32_t gpus);
  /// Until release(): so many of the node's open GPUs do not count as open; for jobs that ask for GPUs alone.
  void withhold(const Cluster& cluster, NodeId n, int gpus);
  /// Until release(): jobs that ask for more than whole GPUs do not go to the node.
  void close(const Cluster& cluster, NodeId n);
  void release(const Cluster& cluster);
  [[nodiscard]] bool withholds() const { return !withheld_nodes_.empty() || !closed_nodes_.empty(); }
  [[nodiscard]] bool is_closed(NodeId n) const { return n.index() < closed_.size() && closed_[n.index()]; }
  [[nodiscard]] int withheld(NodeId n) const { return n.index() < withheld_.size() ? withheld_[n.index()] : 0; }
  [[nodiscard]] const NodeBuckets& buckets() const { return buckets_; }

 private:
  friend struct SnapshotParts;
  [[nodiscard]] int count_of(const Cluster& cluster, NodeId n) const;
  void look_at(const Cluster& cluster, std::span<const NodeId> nodes);

  NodeBuckets buckets_;
  std::vector<int8_t> withheld_;  // by node
  std::vector<NodeId> withheld_nodes_;
  std::vector<bool> closed_;  // by node
  std::vector<NodeId> closed_nodes_;
  uint64_t free_seen_ = 0;  // positions in the two change logs
  uint64_t coming_seen_ = 0;
};

}  // namespace stint::sched
