#include "cycles/cohort_candidates.h"

#include <algorithm>

namespace stint::sched {

std::string_view name_of(VictimReason r) {
  switch (r) {
    case VictimReason::kSameQueue: return "InClusterQueue";
    case VictimReason::kReclaim: return "InCohortReclamation";
    case VictimReason::kReclaimWhileBorrowing: return "InCohortReclaimWhileBorrowing";
    case VictimReason::kFairSharing: return "InCohortFairSharing";
  }
  return "";
}

void QuotaTrial::remove(size_t w) {
  for (const CellAmount& a : admitted_[w].amounts)
    tree_.give_back(admitted_[w].queue, a);
}

void QuotaTrial::put_back(size_t w) {
  for (const CellAmount& a : admitted_[w].amounts)
    tree_.use(admitted_[w].queue, a);
}

void QuotaTrial::book_incoming() {
  for (const CellAmount& a : incoming_.workload.amounts)
    tree_.use(incoming_.workload.queue, a);
}

void QuotaTrial::unbook_incoming() {
  for (const CellAmount& a : incoming_.workload.amounts)
    tree_.give_back(incoming_.workload.queue, a);
}

bool QuotaTrial::fits(Borrowing borrowing) const {
  const QuotaNodeId queue = incoming_.workload.queue;
  return std::all_of(incoming_.workload.amounts.begin(), incoming_.workload.amounts.end(), [&](const CellAmount& a) {
    if (borrowing == Borrowing::kForbidden && tree_.used(queue, a.cell) + a.amount > tree_.nominal(queue, a.cell)) return false;
    return a.amount <= tree_.available(queue, a.cell);
  });
}

bool QuotaTrial::uses_short_cell(size_t w) const {
  const auto& amounts = admitted_[w].amounts;
  return std::any_of(incoming_.short_cells.begin(), incoming_.short_cells.end(), [&](CellId cell) {
    return std::any_of(amounts.begin(), amounts.end(), [&](const CellAmount& a) { return a.cell == cell && a.amount > 0; });
  });
}

bool QuotaTrial::gives_way(size_t w, GivesWay rule) const {
  const QuotaWorkload& in = incoming_.workload;
  switch (rule) {
    case GivesWay::kNone: return false;
    case GivesWay::kAny: return true;
    case GivesWay::kLowerPriority: return admitted_[w].priority < in.priority;
    case GivesWay::kLowerOrNewerEqual:
      return admitted_[w].priority < in.priority || (admitted_[w].priority == in.priority && in.created < admitted_[w].created);
  }
  return false;
}

bool QuotaTrial::before(size_t a, size_t b) const {
  const QuotaWorkload &wa = admitted_[a], &wb = admitted_[b];
  if (wa.already_evicted != wb.already_evicted) return wa.already_evicted;
  if (same_queue(a) != same_queue(b)) return same_queue(b);
  if (wa.priority != wb.priority) return wa.priority < wb.priority;
  if (wa.reserved != wb.reserved) return wb.reserved < wa.reserved;
  if (wa.uid != wb.uid) return wa.uid < wb.uid;
  return a < b;
}

void QuotaTrial::give_back_unneeded(std::vector<QuotaVictim>& victims, Borrowing borrowing) {
  for (size_t i = victims.size(); i-- > 1;) {
    const size_t candidate = i - 1;
    put_back(victims[candidate].workload);
    if (fits(borrowing))
      victims.erase(victims.begin() + static_cast<ptrdiff_t>(candidate));
    else
      remove(victims[candidate].workload);
  }
}

void QuotaTrial::restore(std::span<const QuotaVictim> victims) {
  for (const QuotaVictim& v : victims)
    put_back(v.workload);
}

}  // namespace stint::sched
