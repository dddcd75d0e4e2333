// The fair-sharing rule: take from the branch with the highest share, level by level down the tree, as long as the rule
// between the two branches allows it.
#include <algorithm>

#include "base/check.h"
#include "cycles/cohort_candidates.h"

namespace stint::sched {

namespace {

/// Candidates per queue, and the next queue to take from.
class Targets {
 public:
  Targets(const QuotaTrial& trial, std::vector<size_t> candidates) : trial_(trial), left_(std::move(candidates)) {
    std::sort(left_.begin(), left_.end(), [&](size_t a, size_t b) { return trial_.before(a, b); });
    for (QuotaNodeId n = trial_.incoming().workload.queue; n.valid(); n = trial_.tree().parent(n))
      path_.push_back(n);
  }

  /// The first candidate of the queue to take from; none = no queue is left.
  [[nodiscard]] std::optional<size_t> next() const { return first_under(path_.back()); }
  /// The next of the same queue.
  [[nodiscard]] std::optional<size_t> next_of(QuotaNodeId queue) const {
    const auto it = std::find_if(left_.begin(), left_.end(), [&](size_t w) { return trial_.admitted(w).queue == queue; });
    return it == left_.end() ? std::nullopt : std::optional(*it);
  }
  void drop(size_t w) { std::erase(left_, w); }
  void drop_queue(QuotaNodeId queue) {
    std::erase_if(left_, [&](size_t w) { return trial_.admitted(w).queue == queue; });
  }

 private:
  [[nodiscard]] bool on_path(QuotaNodeId n) const { return std::find(path_.begin(), path_.end(), n) != path_.end(); }

  /// Of the children that borrow (or that the incoming workload is in) the one with the highest share; cohorts before queues,
  /// then the one whose next candidate goes first.
  [[nodiscard]] std::optional<size_t> first_under(QuotaNodeId node) const {
    if (const auto own = next_of(node)) return own;
    std::optional<size_t> best;
    BorrowedShare best_share;
    bool best_is_cohort = false;
    for (const QuotaNodeId child : trial_.tree().children(node)) {
      const BorrowedShare share = trial_.tree().share(child);
      if (share.zero() && !on_path(child)) continue;
      const auto first = first_under(child);
      if (!first) continue;
      const bool cohort = !next_of(child);
      const auto order = best ? share <=> best_share : std::strong_ordering::greater;
      if (order < 0) continue;
      if (order == 0 && (cohort != best_is_cohort ? best_is_cohort : trial_.before(*best, *first))) continue;
      best = first;
      best_share = share;
      best_is_cohort = cohort;
    }
    return best;
  }

  const QuotaTrial& trial_;
  std::vector<size_t> left_;
  std::vector<QuotaNodeId> path_;  // from the incoming queue to its root
};

std::vector<size_t> candidates_of(const QuotaTrial& trial) {
  const QuotaRequest& in = trial.incoming();
  const QuotaNodeId root = trial.tree().root(in.workload.queue);
  std::vector<size_t> out;
  for (size_t w = 0; w < trial.admitted_count(); ++w) {
    if (!trial.uses_short_cell(w)) continue;
    const bool same = trial.same_queue(w);
    const QuotaNodeId queue = trial.admitted(w).queue;
    if (!same && (trial.tree().root(queue) != root || trial.tree().within_nominal(queue, in.short_cells))) continue;
    if (trial.gives_way(w, same ? in.policy.within_queue : in.policy.within_cohort)) out.push_back(w);
  }
  return out;
}

/// The two branches below the lowest cohort above both queues.
struct Branches {
  QuotaNodeId ours;
  QuotaNodeId theirs;
};
Branches branches_of(const QuotaTree& tree, QuotaNodeId ours, QuotaNodeId theirs) {
  for (QuotaNodeId a = ours; a.valid(); a = tree.parent(a))
    for (QuotaNodeId b = theirs; b.valid(); b = tree.parent(b))
      if (tree.parent(a) == tree.parent(b)) return {a, b};
  CHECK(false, "two queues without a common cohort");
  return {};
}

class FairChoice {
 public:
  FairChoice(QuotaTrial& trial, std::span<const FairRule> rules) : trial_(trial), rules_(rules) {}

  std::vector<QuotaVictim> choose() {
    trial_.book_incoming();
    // A queue that stays within its own takes back what it has lent.
    if (trial_.tree().within_nominal(trial_.incoming().workload.queue, trial_.incoming().short_cells))
      reason_ = VictimReason::kReclaim;
    const bool fits = first_pass(candidates_of(trial_)) || (rules_.size() > 1 && second_pass());
    trial_.unbook_incoming();
    if (fits) trial_.give_back_unneeded(victims_, QuotaTrial::Borrowing::kAllowed);
    trial_.restore(victims_);
    if (!fits) victims_.clear();
    return std::move(victims_);
  }

 private:
  bool first_pass(std::vector<size_t> candidates) {
    Targets targets(trial_, std::move(candidates));
    while (const auto next = targets.next()) {
      if (trial_.same_queue(*next)) {
        targets.drop(*next);
        if (take(*next, VictimReason::kSameQueue)) return true;
        continue;
      }
      const QuotaNodeId queue = trial_.admitted(*next).queue;
      const Shares before = shares_with(queue);
      for (auto w = next; w; w = targets.next_of(queue)) {
        targets.drop(*w);
        trial_.remove(*w);
        const BorrowedShare theirs_after = shares_with(queue).theirs;
        trial_.put_back(*w);
        if (allows(rules_[0], before, theirs_after)) {
          if (take(*w, reason_)) return true;
          break;  // shares have changed: another queue may be first now
        }
        refused_.push_back(*w);
      }
    }
    return false;
  }

  /// One workload a queue at most: its second would be judged by the same shares as the first pass did.
  bool second_pass() {
    Targets targets(trial_, refused_);
    while (const auto next = targets.next()) {
      const QuotaNodeId queue = trial_.admitted(*next).queue;
      const Shares now = shares_with(queue);
      targets.drop_queue(queue);
      if (allows(rules_[1], now, now.theirs) && take(*next, reason_)) return true;
    }
    return false;
  }

  struct Shares {
    BorrowedShare ours, theirs;
  };
  [[nodiscard]] Shares shares_with(QuotaNodeId queue) const {
    const Branches b = branches_of(trial_.tree(), trial_.incoming().workload.queue, queue);
    return {trial_.tree().share(b.ours), trial_.tree().share(b.theirs)};
  }

  static bool allows(FairRule rule, const Shares& before, const BorrowedShare& theirs_after) {
    return rule == FairRule::kAtMostFinalShare ? before.ours <= theirs_after : before.ours < before.theirs;
  }

  /// @return whether the incoming workload fits now.
  bool take(size_t w, VictimReason reason) {
    trial_.remove(w);
    victims_.push_back({w, reason});
    trial_.unbook_incoming();
    const bool fits = trial_.fits(QuotaTrial::Borrowing::kAllowed);
    trial_.book_incoming();
    return fits;
  }

  QuotaTrial& trial_;
  std::span<const FairRule> rules_;
  std::vector<QuotaVictim> victims_;
  std::vector<size_t> refused_;
  VictimReason reason_ = VictimReason::kFairSharing;  // of victims in other queues
};

}  // namespace

std::vector<QuotaVictim> choose_fair_victims(QuotaTree& tree, std::span<const QuotaWorkload> admitted,
                                             const QuotaRequest& incoming, std::span<const FairRule> rules) {
  CHECK(!rules.empty(), "fair sharing needs a rule");
  QuotaTrial trial(tree, admitted, incoming);
  return FairChoice(trial, rules).choose();
}

}  // namespace stint::sched
