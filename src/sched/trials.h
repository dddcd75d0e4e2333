// Trials of a search, stopped early when hopeless: asynchronous successive halving.
//
// A trial reports its loss when it reaches a rung (a resource such as epochs, growing by the reduction factor). It goes on
// when it is among the best 1/η of all that have reached that rung so far, else it pauses; a paused one is promoted when
// later results make it one of the best. No trial waits for stragglers.
// Source: Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning" (ASHA), algorithm 2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace stint::sched {

struct TrialRules {
  int64_t first_rung = 1;  ///< resource at the lowest rung, > 0
  int64_t most = 81;       ///< resource of a finished trial, ≥ first_rung
  int64_t reduction = 3;   ///< η ≥ 2
  bool operator==(const TrialRules&) const = default;
};

struct TrialScore {
  uint32_t trial = 0;
  int64_t loss_micro = 0;  ///< loss in millionths, smaller is better: whole numbers, so that ties are ties
};

class Asha {
 public:
  explicit Asha(const TrialRules& rules);

  [[nodiscard]] int rungs() const { return static_cast<int>(resource_.size()); }
  [[nodiscard]] int64_t resource_at(int rung) const { return resource_[static_cast<size_t>(rung)]; }

  /// A trial has reached a rung, once each, in any order of trials.
  void report(int rung, TrialScore score);
  /// The trial to go on with to the rung above: of the highest rung that has one, the best not promoted yet among its best
  /// 1/η; ties to the smaller id. It counts as promoted from now on. None: start a new trial instead.
  struct Promotion {
    uint32_t trial = 0;
    int to_rung = 0;
  };
  std::optional<Promotion> promote();
  /// Would it be among the best 1/η of its rung if nothing more came in? A trial for which this is false can give up its GPUs now.
  [[nodiscard]] bool is_hopeful(int rung, uint32_t trial) const;
  /// Should it be stopped when it has reported at the rung? Where trials run on instead of pausing: when enough have reported
  /// there to tell (η), and it is not among the best 1/η of them. Never at the last rung: it has finished.
  [[nodiscard]] bool is_hopeless(int rung, uint32_t trial) const;

 private:
  friend struct SnapshotParts;
  friend struct ForgetParts;
  struct Entry {
    TrialScore score;
    bool promoted = false;
  };
  [[nodiscard]] size_t best_count(size_t rung) const;
  TrialRules rules_;
  std::vector<int64_t> resource_;
  std::vector<std::vector<Entry>> rungs_;  // per rung ascending by loss, then trial
};

}  // namespace stint::sched
