// What the two ways of choosing victims by quota share: who is a candidate, in which order, does it fit now.
#pragma once

#include "cycles/cohort_victims.h"

namespace stint::sched {

/// One choice in progress: the tree with and without workloads.
class QuotaTrial {
 public:
  QuotaTrial(QuotaTree& tree, std::span<const QuotaWorkload> admitted, const QuotaRequest& incoming)
      : tree_(tree), admitted_(admitted), incoming_(incoming) {}

  [[nodiscard]] QuotaTree& tree() { return tree_; }
  [[nodiscard]] const QuotaTree& tree() const { return tree_; }
  [[nodiscard]] const QuotaWorkload& admitted(size_t w) const { return admitted_[w]; }
  [[nodiscard]] size_t admitted_count() const { return admitted_.size(); }
  [[nodiscard]] const QuotaRequest& incoming() const { return incoming_; }
  [[nodiscard]] bool same_queue(size_t w) const { return admitted_[w].queue == incoming_.workload.queue; }

  void remove(size_t w);
  void put_back(size_t w);
  void book_incoming();
  void unbook_incoming();

  enum class Borrowing : uint8_t { kForbidden, kAllowed };
  /// With nothing of the incoming workload booked.
  [[nodiscard]] bool fits(Borrowing borrowing) const;
  [[nodiscard]] bool uses_short_cell(size_t w) const;
  /// By priority and age alone.
  [[nodiscard]] bool gives_way(size_t w, GivesWay rule) const;
  /// Already evicted, other queues, lower priority, later reserved, smaller uid, first named.
  [[nodiscard]] bool before(size_t a, size_t b) const;
  /// Gives back, last chosen but one first, who is not needed. The rest stays removed. Nothing of the incoming is booked.
  void give_back_unneeded(std::vector<QuotaVictim>& victims, Borrowing borrowing);
  /// Books all victims again.
  void restore(std::span<const QuotaVictim> victims);

 private:
  QuotaTree& tree_;
  std::span<const QuotaWorkload> admitted_;
  const QuotaRequest& incoming_;
};

}  // namespace stint::sched
