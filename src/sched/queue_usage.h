// What each queue holds, its limits, and which of two queues is further below its share: the part of the queue tree that
// every decision asks for.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "sched/cluster.h"
#include "sched/queue.h"

namespace stint::sched {

/// to += amounts × times
void add_to(Amounts& to, const Amounts& amounts, int64_t times = 1);

class QueueUsage {
 public:
  QueueId add(const QueueSpec& spec);
  [[nodiscard]] size_t size() const { return queues_.size(); }
  [[nodiscard]] const QueueSpec& spec(QueueId q) const { return queues_[q.index()].spec; }
  [[nodiscard]] const Amounts& held(QueueId q) const { return queues_[q.index()].held; }

  /// A job of the queue takes (or, negative, gives back) this much, at every level.
  void change(QueueId q, const Amounts& amounts, bool preemptible);

  /// The queue (this one or one above) whose limit a job would break; not valid = none. Preemptible jobs stay within
  /// limits; the others, all of them together, also within what the queue deserves.
  [[nodiscard]] QueueId limiting(QueueId q, const Amounts& wanted, bool preemptible) const;
  /// May a queue take back room from another? Between the two siblings through which they part: with `wanted` more the
  /// taker's side stays within what it deserves; the other side holds more than it deserves, `taken` (by queue) not counted.
  [[nodiscard]] bool may_reclaim(QueueId taker, const Amounts& wanted, QueueId from, const std::vector<int64_t>& taken) const;
  /// Is there anything to reclaim for: does any queue deserve something?
  [[nodiscard]] bool any_deserved() const { return any_deserved_; }

  /// By how many milli-GPU the limit of `at` would have to be raised.
  [[nodiscard]] int64_t missing_gpu_milli(QueueId at, const Amounts& wanted, bool preemptible) const;

  /// Negative: `a` goes first. Compared where the two branches part: queue priority, then who holds less of what it
  /// deserves, then (both above it) less over quota per weight, then the older, then the smaller id. 0 only for a == b.
  [[nodiscard]] int compare(QueueId a, QueueId b) const;

  /// Slots number the leaves so that every subtree is a range. A leaf added later renumbers.
  struct Range {
    uint32_t first = 0;
    uint32_t last = 0;  ///< inclusive
  };
  [[nodiscard]] Range slots(QueueId q) const { return queues_[q.index()].slots; }
  [[nodiscard]] QueueId leaf(uint32_t slot) const { return leaves_[slot]; }
  [[nodiscard]] uint32_t slot_count() const { return static_cast<uint32_t>(leaves_.size()); }

 private:
  struct Queue {
    QueueSpec spec;
    int depth = 0;
    int64_t weight_milli = 0;  // over_quota_weight as an integer: no double decides
    Amounts held;
    Amounts held_firm;  // by jobs that cannot be preempted
    Range slots;
  };
  [[nodiscard]] std::pair<uint32_t, uint32_t> branches(uint32_t x, uint32_t y) const;
  [[nodiscard]] int compare_siblings(uint32_t a, uint32_t b) const;
  void number_leaves();
  void number_below(const std::vector<std::vector<uint32_t>>& children, uint32_t q);

  std::vector<Queue> queues_;
  std::vector<QueueId> leaves_;
  bool any_deserved_ = false;
};

}  // namespace stint::sched
