// The free amounts of every node as flat records: what placement reads for thousands of candidate nodes per decision.
//
// Truth about capacity is here and nowhere else. A log of changed nodes lets whoever caches something per node (scores,
// buckets by free GPUs) catch up with what changed since it last looked, instead of looking at every node.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "sched/ids.h"

namespace stint::sched {

inline constexpr int kMaxGpusPerNode = 16;
inline constexpr int32_t kMilli = 1000;  ///< of one GPU

struct NodeRecord {
  int64_t cpu_milli = 0;
  int64_t cpu_free = 0;
  int64_t memory_bytes = 0;
  int64_t memory_free = 0;
  std::array<int16_t, kMaxGpusPerNode> gpu_free{};  ///< milli of each GPU that no task holds; those beyond `gpus` are 0
  int16_t gpus = 0;
  int16_t whole_free = 0;  ///< GPUs with all kMilli free
  uint16_t whole = 0;      ///< a bit for each of those; NodeTable::add sets it
  int32_t milli_free = 0;  ///< sum of gpu_free
  int16_t model = -1;      ///< interned GPU model; −1 = no GPU
  bool usable = true;      ///< false: down or draining, takes nothing new
  int32_t tasks_free = 0;  ///< how many more tasks the node takes
  /// Tasks that hold GPUs here, by kind: [0] a part of one GPU, [k] k whole GPUs.
  std::array<int16_t, kMaxGpusPerNode + 1> holders{};
  bool operator==(const NodeRecord&) const = default;
};

/// What a task takes from a node. `gpus` is a mask of whole GPUs, or of the one GPU of which `milli` is taken.
struct Take {
  uint64_t gpus = 0;
  int32_t milli = 0;  ///< 0 = whole GPUs
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  bool operator==(const Take&) const = default;
};

class NodeTable {
 public:
  NodeId add(const NodeRecord& node);
  /// Another node in place of one that no task is on.
  void replace(NodeId n, const NodeRecord& node);
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] const NodeRecord& operator[](NodeId n) const { return nodes_[n.index()]; }
  [[nodiscard]] std::span<const NodeRecord> all() const { return nodes_; }

  /// CHECKs that the node has it: a double booking is a defect of ours.
  void take(NodeId n, const Take& t);
  void give_back(NodeId n, const Take& t);
  void set_usable(NodeId n, bool usable);

  /// Every change appends the node. Positions only grow; a reader remembers the position it has read up to.
  [[nodiscard]] uint64_t log_end() const { return log_begin_ + log_.size(); }
  /// Nodes changed at or after `position`, with repeats. At least the last 32,768 changes are remembered.
  struct Changes {
    bool lost = false;  ///< that far back is forgotten: look at every node; `nodes` is empty
    std::span<const NodeId> nodes;
  };
  [[nodiscard]] Changes changed_since(uint64_t position) const;

 private:
  friend struct SnapshotParts;
  void touch(NodeId n);
  void count_holder(NodeRecord& node, const Take& t, int16_t change);
  std::vector<NodeRecord> nodes_;
  std::vector<NodeId> log_;
  uint64_t log_begin_ = 0;
};

}  // namespace stint::sched
