// Running jobs by rank, the one that should give way first at the end. A sorted list in blocks: insertion and removal move
// at most one block, walking is walking arrays, and a copy is a copy.
#pragma once

#include <cstddef>
#include <vector>

#include "sched/queues/pending.h"

namespace stint::sched {

class RunningOrder {
 public:
  void insert(const Waiting& job);
  /// @param job  as it was inserted.
  void erase(const Waiting& job);
  [[nodiscard]] size_t size() const { return size_; }

  /// Calls visit(job) from the last in rank to the first until it returns false; expect(job) a few jobs before its visit.
  template <typename Visit, typename Expect>
  void for_each_from_last(Visit&& visit, Expect&& expect) const {
    for (size_t b = blocks_.size(); b-- > 0;)
      for (size_t i = blocks_[b].size(); i-- > 0;) {
        if (i >= kAhead) expect(blocks_[b][i - kAhead]);
        if (!visit(blocks_[b][i])) return;
      }
  }
  template <typename Visit>
  void for_each_from_last(Visit&& visit) const {
    for_each_from_last(visit, [](const Waiting&) {});
  }
  /// The same from the first to the last.
  template <typename Visit>
  void for_each_from_first(Visit&& visit) const {
    for (const std::vector<Waiting>& block : blocks_)
      for (const Waiting& job : block)
        if (!visit(job)) return;
  }

 private:
  friend struct SnapshotParts;
  friend struct ForgetParts;
  static constexpr size_t kBlock = 64;
  static constexpr size_t kAhead = 8;
  [[nodiscard]] size_t block_of(const Waiting& job) const;
  std::vector<std::vector<Waiting>> blocks_;  // ascending; none is empty
  std::vector<Waiting> lasts_;                // the last of each block
  size_t size_ = 0;
};

}  // namespace stint::sched
