// Nodes as they would be if some jobs left and others came, by counting whole GPUs: nothing on the cluster changes. Searches for a plain
// job's room (to stop others, to move them, to reserve) draw on it, one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sched/place/cluster.h"
#include "sched/place/open_nodes.h"
#include "sched/shape.h"

namespace stint::sched {

class RoomOnPaper {
 public:
  /// What a search leaves for the next one to use again.
  class Scratch {
    friend class RoomOnPaper;
    struct Node {
      int32_t leaves = 0;   // GPUs that would be left there
      int32_t claimed = 0;  // GPUs that would be taken
    };
    std::vector<Node> nodes;
    std::vector<std::array<uint16_t, kMaxGpusPerNode>> sharers;  // by node and GPU: tasks that would leave a part of it
    std::vector<NodeId> touched;                                 // nodes that differ from nothing, as they were found
    std::vector<std::pair<NodeId, int32_t>> chosen;
  };

  /// As things are. One at a time: all outlive it, and nothing of them changes meanwhile but by what is decided on it.
  RoomOnPaper(const Cluster& cluster, const OpenNodes& open, Scratch& scratch);

  /// So many GPUs of the node are another's.
  void claim(NodeId n, int32_t gpus);
  /// What runs of these tasks of one job leaves. A GPU that several share is left by the last of them.
  void leave(std::span<const Task> tasks);
  /// Would a plain job fit, each task on the fullest node that takes it?
  [[nodiscard]] bool fits(const Shape& shape) const { return OpenNodes::fits(shape, counts_); }
  /// GPUs of the node that would be neither held nor claimed.
  [[nodiscard]] int32_t room(NodeId n) const { return open_.buckets().at(n) + at(n).leaves - at(n).claimed; }

  /// A node with so many: an open one, the fullest that has them, then those where room was found first. Not valid: there is none.
  [[nodiscard]] NodeId node_with(int32_t gpus) const;
  /// A task of the waiting job goes there.
  void choose(NodeId n, int32_t gpus);
  /// A node for each task of the shape. Open nodes come first (the fullest that fits without any that leave), then those where room was
  /// found first: there are the jobs that should give way first. @return false when the greedy choice leads nowhere.
  bool choose_nodes(const Shape& shape);
  /// Node and GPUs by task, in the shape's placing order.
  [[nodiscard]] const std::vector<std::pair<NodeId, int32_t>>& chosen() const { return scratch_.chosen; }
  /// Must the job with these tasks leave for what was chosen? If not, what it would have left counts no longer.
  bool is_needed(std::span<const Task> tasks);

 private:
  [[nodiscard]] const Scratch::Node& at(NodeId n) const { return scratch_.nodes[n.index()]; }
  Scratch::Node& touch(NodeId n) {
    Scratch::Node& node = scratch_.nodes[n.index()];
    if (node.leaves == 0 && node.claimed == 0) scratch_.touched.push_back(n);
    return node;
  }
  /// Among `counts_`, which knows no more and no less than that.
  [[nodiscard]] size_t bucket(NodeId n) const { return static_cast<size_t>(std::clamp(room(n), 0, kMaxGpusPerNode)); }
  int32_t gpus_left_by(const Task& task);

  const Cluster& cluster_;
  const OpenNodes& open_;
  Scratch& scratch_;
  NodeBuckets::Counts counts_;
};

}  // namespace stint::sched
