// The classical rule: candidates in order, with or without borrowing.
//
// A queue closer in the tree to the quota it asks for has an advantage: workloads outside the smallest cohort whose own pool
// would hold the request give way whatever the incoming queue borrows.
#include <algorithm>

#include "cycles/cohort_candidates.h"

namespace stint::sched {

namespace {

using Borrowing = QuotaTrial::Borrowing;

enum class Kind : uint8_t { kSameQueue, kAdvantage, kWithoutBorrowing, kWhileBorrowing };

struct Candidate {
  size_t workload = 0;
  Kind kind = Kind::kSameQueue;
  QuotaNodeId common;  // lowest cohort above both queues; not valid for the same queue
};

VictimReason reason_of(Kind kind) {
  if (kind == Kind::kSameQueue) return VictimReason::kSameQueue;
  return kind == Kind::kWhileBorrowing ? VictimReason::kReclaimWhileBorrowing : VictimReason::kReclaim;
}

class Collector {
 public:
  explicit Collector(const QuotaTrial& trial) : trial_(trial), tree_(trial.tree()) {}

  std::vector<Candidate> collect() {
    const QuotaNodeId queue = trial_.incoming().workload.queue;
    for (size_t w = 0; w < trial_.admitted_count(); ++w)
      if (trial_.same_queue(w) && trial_.uses_short_cell(w) && trial_.gives_way(w, trial_.incoming().policy.within_queue))
        out_.push_back({w, Kind::kSameQueue, {}});
    if (trial_.incoming().policy.within_cohort != GivesWay::kNone) climb(queue);
    std::sort(out_.begin(), out_.end(), [&](const Candidate& a, const Candidate& b) {
      const bool evicted_a = trial_.admitted(a.workload).already_evicted, evicted_b = trial_.admitted(b.workload).already_evicted;
      if (evicted_a != evicted_b) return evicted_a;
      if (group(a) != group(b)) return group(a) < group(b);
      return trial_.before(a.workload, b.workload);
    });
    return std::move(out_);
  }

 private:
  static int group(const Candidate& c) { return c.kind == Kind::kAdvantage ? 0 : c.kind == Kind::kSameQueue ? 2 : 1; }

  void climb(QuotaNodeId queue) {
    std::vector<CellAmount> request = trial_.incoming().workload.amounts;
    bool advantage = take_up(queue, request);
    QuotaNodeId below = queue;
    for (QuotaNodeId cohort = tree_.parent(queue); cohort.valid(); cohort = tree_.parent(cohort)) {
      collect_under(cohort, below, cohort, advantage);
      if (take_up(cohort, request)) advantage = true;
      below = cohort;
    }
  }

  /// Would the node's own pool hold the request? Takes what the node keeps for itself off it.
  bool take_up(QuotaNodeId node, std::vector<CellAmount>& request) const {
    bool holds = true;
    for (CellAmount& a : request) {
      if (tree_.used(node, a.cell) + a.amount > tree_.pool(node, a.cell)) holds = false;
      a.amount = std::max<int64_t>(0, a.amount - std::max<int64_t>(0, tree_.kept(node, a.cell) - tree_.used(node, a.cell)));
    }
    return holds;
  }

  void collect_under(QuotaNodeId node, QuotaNodeId skip, QuotaNodeId common, bool advantage) {
    for (const QuotaNodeId child : tree_.children(node)) {
      if (child == skip || tree_.within_nominal(child, trial_.incoming().short_cells)) continue;
      for (size_t w = 0; w < trial_.admitted_count(); ++w)
        if (trial_.admitted(w).queue == child) consider(w, common, advantage);
      collect_under(child, skip, common, advantage);
    }
  }

  void consider(size_t w, QuotaNodeId common, bool advantage) {
    const QuotaPreemption& policy = trial_.incoming().policy;
    if (!trial_.uses_short_cell(w) || !trial_.gives_way(w, policy.within_cohort)) return;
    const int32_t priority = trial_.admitted(w).priority;
    const bool while_borrowing = policy.while_borrowing && priority < trial_.incoming().workload.priority &&
                                 (!policy.borrow_max_priority || priority <= *policy.borrow_max_priority);
    out_.push_back({w, advantage ? Kind::kAdvantage : while_borrowing ? Kind::kWhileBorrowing : Kind::kWithoutBorrowing, common});
  }

  const QuotaTrial& trial_;
  const QuotaTree& tree_;
  std::vector<Candidate> out_;
};

/// Still a candidate, with those before it gone?
bool holds(const QuotaTrial& trial, const Candidate& c, Borrowing borrowing) {
  if (c.kind == Kind::kSameQueue) return true;
  if (c.kind == Kind::kWithoutBorrowing && borrowing == Borrowing::kAllowed) return false;
  for (QuotaNodeId n = trial.admitted(c.workload).queue; n != c.common; n = trial.tree().parent(n))
    if (trial.tree().within_nominal(n, trial.incoming().short_cells)) return false;
  return true;
}

std::vector<Borrowing> attempts(const QuotaTrial& trial, std::span<const Candidate> candidates) {
  const auto any = [&](auto&& is) { return std::any_of(candidates.begin(), candidates.end(), is); };
  const bool others = any([](const Candidate& c) { return c.kind != Kind::kSameQueue; });
  const bool advantage = any([](const Candidate& c) { return c.kind == Kind::kAdvantage; });
  const QuotaRequest& in = trial.incoming();
  const bool below_nominal = std::all_of(in.short_cells.begin(), in.short_cells.end(), [&](CellId c) {
    return trial.tree().used(in.workload.queue, c) < trial.tree().nominal(in.workload.queue, c);
  });
  if (!others || (!in.policy.while_borrowing && !below_nominal)) return {Borrowing::kAllowed};
  if (!in.policy.while_borrowing && !advantage) return {Borrowing::kForbidden, Borrowing::kAllowed};
  return {Borrowing::kAllowed, Borrowing::kForbidden};
}

}  // namespace

std::vector<QuotaVictim> choose_quota_victims(QuotaTree& tree, std::span<const QuotaWorkload> admitted,
                                              const QuotaRequest& incoming) {
  QuotaTrial trial(tree, admitted, incoming);
  const std::vector<Candidate> candidates = Collector(trial).collect();
  for (const Borrowing borrowing : attempts(trial, candidates)) {
    std::vector<QuotaVictim> victims;
    bool fits = false;
    for (const Candidate& c : candidates) {
      if (!holds(trial, c, borrowing)) continue;
      trial.remove(c.workload);
      victims.push_back({c.workload, reason_of(c.kind)});
      fits = trial.fits(borrowing);
      if (fits) break;
    }
    if (fits) trial.give_back_unneeded(victims, borrowing);
    trial.restore(victims);
    if (fits) return victims;
  }
  return {};
}

}  // namespace stint::sched
