// The tree of queues: what each holds, may hold, and is due.
//
// Accounts. What the tasks of a queue's jobs hold (running or nominated; leaving tasks hold nothing any more) counts in the
// queue and in all above it. Jobs that cannot be preempted are counted a second time, as firm: they stay within what the queue
// deserves, everything together stays within the limit, at every level.
//
// Shares. Per level and resource what the parent has is divided among its children (fair_share.h): first what they deserve,
// the rest by weight. `allocatable` is what a queue may hold without owing anything back: min(limit, max(deserved, share)).
//
// Order. Which of two queues goes next is decided between the siblings under their lowest common ancestor.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sched/place/cluster.h"
#include "sched/queues/queue.h"

namespace stint::sched {

/// The resources queues are accounted in, as members of Amounts.
inline constexpr std::array<int64_t Amounts::*, 3> kResources = {&Amounts::gpu_milli, &Amounts::cpu_milli,
                                                                 &Amounts::memory_bytes};
/// Larger than any amount; sums of a few do not overflow.
inline constexpr int64_t kNoBound = int64_t{1} << 60;

/// to += amounts × times
void add_amounts(Amounts& to, const Amounts& amounts, int64_t times = 1);

class QueueTree {
 public:
  /// Parents before children.
  QueueId add(const QueueSpec& spec);
  [[nodiscard]] size_t size() const { return queues_.size(); }
  [[nodiscard]] const QueueSpec& spec(QueueId q) const { return queues_[q.index()].spec; }
  [[nodiscard]] QueueId parent(QueueId q) const { return queues_[q.index()].spec.parent; }
  /// Of a queue; of the whole tree when `q` is not valid. In order of adding.
  [[nodiscard]] std::span<const QueueId> children(QueueId q) const;

  [[nodiscard]] const Amounts& held(QueueId q) const { return queues_[q.index()].held; }
  [[nodiscard]] const Amounts& held_firm(QueueId q) const { return queues_[q.index()].held_firm; }
  /// A job of the queue takes (`times` = 1) or gives back (−1) this much, at every level.
  void charge(QueueId q, const Amounts& amounts, bool preemptible, int64_t times);

  /// The same as charge(), for good.
  void change(QueueId q, const Amounts& amounts, bool preemptible) { apply(q, amounts, preemptible, 1); }
  /// Other terms; its parent and its age stay.
  void set_spec(QueueId q, const QueueSpec& spec);

  /// What it holds, as others have counted it, with what is held below it. Not between marks.
  void set_held(QueueId q, const Amounts& held, const Amounts& firm) {
    queues_[q.index()].held = held;
    queues_[q.index()].held_firm = firm;
  }

  /// Charges since a mark can be taken back; marks nest.
  [[nodiscard]] size_t mark() const { return log_.size(); }
  void take_back(size_t mark);
  /// Forgets what could be taken back; when no mark is in use.
  void settle() { log_.clear(); }

  /// With this much more no limit, and for firm jobs nothing deserved, would be exceeded at any level.
  [[nodiscard]] bool within_limits(QueueId q, const Amounts& more, bool preemptible) const;

  /// What the jobs of leaf `q` hold and wait for; sets it at every level with divide().
  void set_request(QueueId q, const Amounts& request) { queues_[q.index()].request = request; }
  /// Divides the cluster anew, level by level.
  void divide(const Amounts& total);
  [[nodiscard]] const Amounts& fair_share(QueueId q) const { return queues_[q.index()].share; }
  [[nodiscard]] const Amounts& deserved(QueueId q) const { return queues_[q.index()].deserved; }
  [[nodiscard]] const Amounts& limit(QueueId q) const { return queues_[q.index()].limit; }
  [[nodiscard]] Amounts allocatable(QueueId q) const;

  /// The two siblings through which `a` and `b` part; equal when one is the other.
  struct Branches {
    QueueId a, b;
  };
  [[nodiscard]] Branches branches(QueueId a, QueueId b) const;

  /// What a sibling would take next, for the order among siblings.
  struct Next {
    QueueId queue;
    Amounts take;  ///< added to what it holds; negative for what it would lose
    bool preemptible = true;
  };
  /// Negative: `a` goes first. Not above fair share; next job within deserved; queue priority; smaller dominant share after the
  /// next job; smaller allocatable share; older; smaller id. 0 only for the same queue.
  [[nodiscard]] int compare(const Next& a, const Next& b) const;

 private:
  friend struct SnapshotParts;
  struct Queue {
    QueueSpec spec;
    std::vector<QueueId> children;
    int depth = 0;
    Amounts deserved, limit;  // kNoBound = unlimited
    Amounts held, held_firm;
    Amounts request;
    Amounts share;
  };
  struct Charge {
    QueueId queue;
    Amounts amounts;
    bool preemptible = true;
  };
  void apply(QueueId q, const Amounts& amounts, bool preemptible, int64_t times);
  void divide_level(QueueId parent, const Amounts& total);
  [[nodiscard]] bool above_share(const Next& next) const;
  [[nodiscard]] bool stays_deserved(const Next& next) const;
  [[nodiscard]] int compare_dominant(const Next& a, const Next& b) const;

  std::vector<Queue> queues_;
  std::vector<QueueId> roots_;
  std::vector<Charge> log_;
  Amounts total_;
};

}  // namespace stint::sched
