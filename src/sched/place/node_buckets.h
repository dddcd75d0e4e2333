// Nodes by a small count (free whole GPUs): best fit in constant time, however many nodes there are.
//
// One bit set per count, with a summary bit per 64 nodes; a mask says which counts have nodes at all. "The fullest node
// on which n fit, of those the one with the smallest id" is the first bit of the first set bit set from n on.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sched/place/node_table.h"

namespace stint::sched {

class NodeBuckets {
 public:
  static constexpr int kCounts = kMaxGpusPerNode + 1;
  static constexpr int kNowhere = -1;
  using Counts = std::array<int32_t, kCounts>;  ///< nodes per count

  /// @param count  0 … kMaxGpusPerNode, or kNowhere: the node is in no bucket. New nodes may be named at any time.
  void set(NodeId n, int count);
  /// kNowhere for a node never named.
  [[nodiscard]] int at(NodeId n) const { return n.index() < at_.size() ? at_[n.index()] : kNowhere; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// Is there a node with `count` or more?
  [[nodiscard]] bool any_from(int count) const { return (filled_ >> count) != 0; }
  /// Smallest count not below `count` that has nodes, of those the smallest id. Not valid = none.
  [[nodiscard]] NodeId best_fit(int count) const;
  /// Calls visit(node) in the order of best_fit until it returns false.
  template <typename Visit>
  void for_each_from(int count, Visit&& visit) const {
    for (auto c = static_cast<size_t>(count); c < bits_.size(); ++c) {
      if (counts_[c] == 0) continue;
      for (size_t w = 0; w < bits_[c].size(); ++w)
        for (uint64_t left = bits_[c][w]; left != 0; left &= left - 1)
          if (!visit(NodeId(static_cast<uint32_t>(w * 64 + static_cast<size_t>(__builtin_ctzll(left)))))) return;
    }
  }

 private:
  friend struct SnapshotParts;
  void add_bit(size_t bucket, size_t node);
  void remove_bit(size_t bucket, size_t node);

  std::vector<int8_t> at_;
  Counts counts_{};
  uint32_t filled_ = 0;  // bit c: counts_[c] > 0
  std::array<std::vector<uint64_t>, kCounts> bits_;
  std::array<std::vector<uint64_t>, kCounts> summary_;  // bit w: word w of bits_ is not 0
};

}  // namespace stint::sched
