// What each queue holds and has held, its limits, and which of two queues is further below its share: the part of the queue
// tree that every decision asks for.
//
// Share. A queue counts as holding the largest of its parts of the fleet's GPUs, CPUs and memory (dominant resource), in
// GPU-equivalents: half of all CPUs of a fleet of 8 GPUs are 4. Past usage is the decayed average of that (usage_decay.h).
// What it deserves is counted in the resources it deserves something of; no queue loses a guarantee by having used it: only
// what was used beyond it counts, beside what is held beyond it now. Equal sums mean that the averages will be equal one
// half-life from now if all goes on as it is, so queues even out within about a half-life and none stands still for it.
// Sources: Ghodsi et al. 2011 (dominant resource); usage beside weight in the over-quota share as in NVIDIA KAI-Scheduler,
// half-life as in Slurm's multifactor plugin. The sum is our own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "sched/place/cluster.h"
#include "sched/queues/queue.h"
#include "sched/queues/queue_tree.h"
#include "sched/queues/usage_decay.h"

namespace stint::sched {

/// to += amounts × times
inline void add_to(Amounts& to, const Amounts& amounts, int64_t times = 1) {
  to.gpu_milli += amounts.gpu_milli * times;
  to.cpu_milli += amounts.cpu_milli * times;
  to.memory_bytes += amounts.memory_bytes * times;
}

class QueueUsage {
 public:
  /// @param compared  whether compare() is asked for. @param half_life  of past usage; 0 = only what is held now counts.
  /// @param fair  queues are compared, and claim, by their fair shares (queue_tree.h).
  explicit QueueUsage(bool compared = true, Duration half_life = {}, bool fair = false)
      : compared_(compared), fair_(fair), clock_(half_life) {}

  /// The fleet has so much more: what shares are parts of.
  void add_capacity(const Amounts& amounts);
  /// Time is `now`; never before the last call's. @return true when the order of queues may have changed by that.
  bool advance(Instant now);

  QueueId add(const QueueSpec& spec);
  /// All but its parent, age and budget; name, too.
  void set_spec(QueueId q, const QueueSpec& spec);
  [[nodiscard]] size_t size() const { return queues_.size(); }
  [[nodiscard]] const QueueSpec& spec(QueueId q) const { return queues_[q.index()].spec; }
  /// Is `above` the queue or one above it?
  [[nodiscard]] bool is_above(QueueId above, QueueId q) const {
    while (q.valid() && q != above)
      q = spec(q).parent;
    return q.valid();
  }
  [[nodiscard]] const Amounts& held(QueueId q) const { return queues_[q.index()].held; }
  /// Of that by jobs that cannot be preempted.
  [[nodiscard]] const Amounts& held_firm(QueueId q) const { return queues_[q.index()].held_firm; }

  /// A job of the queue takes (or, negative, gives back) this much, at every level.
  void change(QueueId q, const Amounts& amounts, bool preemptible);

  /// The queue (this one or one above) whose limit a job would break; not valid = none. Preemptible jobs stay within
  /// limits; the others, all of them together, also within what the queue deserves.
  [[nodiscard]] QueueId limiting(QueueId q, const Amounts& wanted, bool preemptible) const {
    return any_limits_ ? limiting_above(q, wanted, preemptible, {}) : QueueId();
  }
  /// The same if preemptible jobs gave back so much. @param gone  by queue, with what is below it.
  [[nodiscard]] QueueId limiting_without(QueueId q, const Amounts& wanted, bool preemptible,
                                         std::span<const Amounts> gone) const {
    return any_limits_ ? limiting_above(q, wanted, preemptible, gone) : QueueId();
  }
  /// May a queue take back room from another? Between the two siblings through which they part: with `wanted` more the
  /// taker's side stays within what it deserves; the other side holds more than it deserves, `taken` (by queue) not counted.
  [[nodiscard]] bool may_reclaim(QueueId taker, const Amounts& wanted, QueueId from, const std::vector<Amounts>& taken) const {
    return may_reclaim(taker, wanted, from, taken, taken);
  }
  /// @param gone  the same of all that will have given way when the taker gets its room: counts for its own side.
  [[nodiscard]] bool may_reclaim(QueueId taker, const Amounts& wanted, QueueId from, const std::vector<Amounts>& taken,
                                 const std::vector<Amounts>& gone) const;
  /// At which levels the queue stays within what it deserves with `wanted` more: the highest bit for the top, so that of two
  /// branches that part at a level the one that may take room back from the other compares as the larger.
  [[nodiscard]] uint64_t claims(QueueId q, const Amounts& wanted) const;
  /// Is `part` of what `holder` holds its due against `other`: does its side hold no more than it deserves of that?
  [[nodiscard]] bool is_guaranteed(QueueId holder, const Amounts& part, QueueId other) const;
  /// Is there anything to reclaim for: does any queue deserve something?
  [[nodiscard]] bool any_deserved() const { return any_deserved_; }

  /// By how many milli-GPU the limit of `at` would have to be raised.
  [[nodiscard]] int64_t missing_gpu_milli(QueueId at, const Amounts& wanted, bool preemptible) const;

  /// Negative: `a` goes first. Compared where the two branches part: queue priority, then who holds less of what it
  /// deserves, then (both above it) less over it, now and in the past, per weight, then the older, then the smaller id.
  /// 0 only for a == b.
  [[nodiscard]] int compare(QueueId a, QueueId b) const;
  /// Are they compared by fair shares?
  [[nodiscard]] bool are_fair() const { return fair_; }
  /// The same between a queue's next job and another's. Only fair shares look at what they ask for.
  [[nodiscard]] int compare(const QueueTree::Next& a, const QueueTree::Next& b) const;

  /// Divides the fleet anew into fair shares. @param waiting  what waits, by queue.
  void divide_shares(std::span<const Amounts> waiting);
  [[nodiscard]] const QueueTree& fair_shares() const { return tree_; }
  /// What is held now, and what was on average, in thousandths of a GPU (or its equivalent of CPUs or memory).
  [[nodiscard]] int64_t share_milli(QueueId q) const { return queues_[q.index()].share >> kShareShift; }
  [[nodiscard]] int64_t used_milli(QueueId q) const { return queues_[q.index()].used >> kShareShift; }

  /// Calls mix(number) with everything that can influence a later answer.
  template <typename Mix>
  void mix_into(QueueId q, Mix&& mix) const {
    const Queue& queue = queues_[q.index()];
    for (const Amounts* amounts : {&queue.held, &queue.held_firm})
      for (const int64_t amount : {amounts->gpu_milli, amounts->cpu_milli, amounts->memory_bytes})
        mix(amount);
    mix(queue.used);
    queue.past.mix_into(mix);
  }

  /// Slots number the leaves so that every subtree is a range. A leaf added later renumbers.
  struct Range {
    uint32_t first = 0;
    uint32_t last = 0;  ///< inclusive
  };
  [[nodiscard]] Range slots(QueueId q) const { return queues_[q.index()].slots; }
  [[nodiscard]] QueueId leaf(uint32_t slot) const { return leaves_[slot]; }
  [[nodiscard]] uint32_t slot_count() const { return static_cast<uint32_t>(leaves_.size()); }

 private:
  friend struct SnapshotParts;
  static constexpr int kShareShift = 10;  // GPUs count exactly, CPUs and memory to a millionth of a GPU
  struct Part {
    int64_t of = 0;
    int64_t whole = 0;  // 0 = nothing is deserved
  };
  /// What comparing reads, by itself: it is asked for more often than anything else.
  struct Side {
    int64_t amount = 0;  // below: held of the most held of what is deserved; else what is over, now and in the past
    int64_t weight = 0;  // below: what is deserved of that; else the over-quota weight
    int32_t priority = 0;
    int32_t created = 0;
    QueueId parent;
    int32_t depth = 0;
    bool below = false;  // what it deserves
  };
  struct Queue {
    QueueSpec spec;
    int64_t weight_milli = 0;  // over_quota_weight as an integer: no double decides
    Amounts held;
    Amounts held_firm;  // by jobs that cannot be preempted
    Range slots;
    // Kept where queues are compared. Shares are milli-GPU-equivalents · 2^kShareShift.
    int64_t share = 0;
    int64_t deserved_share = 0;
    int64_t used = 0;  // as of the tick
    Part of_deserved;  // the largest of held / deserved
    DecayedLevel past;
  };
  [[nodiscard]] QueueId limiting_above(QueueId q, const Amounts& wanted, bool preemptible, std::span<const Amounts> gone) const;
  [[nodiscard]] std::pair<uint32_t, uint32_t> branches(uint32_t x, uint32_t y) const;
  [[nodiscard]] int compare_siblings(uint32_t a, uint32_t b) const;
  [[nodiscard]] int64_t share_of(const Amounts& amounts) const;
  void count(QueueId q);
  void count_due(Queue& queue);
  void set_side(QueueId q);
  void number_leaves();
  void number_below(const std::vector<std::vector<uint32_t>>& children, uint32_t q);

  std::vector<Queue> queues_;
  std::vector<Side> sides_;  // by queue
  std::vector<QueueId> leaves_;
  bool any_deserved_ = false;
  bool any_limits_ = false;  // could a queue keep a job waiting?
  bool compared_ = true;
  bool fair_ = false;
  QueueTree tree_;  // its accounts are kept where shares are fair
  DecayClock clock_;
  Amounts capacity_;
  bool capacity_changed_ = false;
  Instant now_;
  int64_t tick_ = -1;  // −1 = time has not begun
};

}  // namespace stint::sched
