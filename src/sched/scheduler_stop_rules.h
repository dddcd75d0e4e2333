// Whom a waiting job may stop, and who gives way first. The rules stand at the head of scheduler_preempt.cc.
#pragma once

#include <algorithm>
#include <optional>

#include "sched/scheduler_impl.h"

namespace stint::sched {

class StopRules {
 public:
  explicit StopRules(Scheduler::Impl& scheduler);

  /// Does anybody ask who of those that run gives way first?
  [[nodiscard]] bool ranks_running() const;
  /// Does it take back what other queues hold above their due? Not where remaining time alone decides, over all queues: what is taken
  /// back by share would be taken again by rank, for ever.
  [[nodiscard]] bool reclaims() const { return reclaims_; }
  /// Could anybody be stopped for another reason than rank?
  [[nodiscard]] bool other_grounds() const;

  /// Rank a running job must exceed for `j` to stop it.
  [[nodiscard]] Rank victim_bound(JobId j) const;
  /// Why `j` may stop `victim` now; none = it may not. One that only has to run for longer first is noted in StopBook::ripens, one that is
  /// larger than all that waits in too_large.
  [[nodiscard]] std::optional<Reason> ground_to_stop(JobId j, JobId victim, const Rank& bound) const;
  /// Where a running job stands in StopBook::running: those behind a waiting job may have to give way to it. Orders without ranks of
  /// their own keep the order in which they give way.
  [[nodiscard]] Rank running_rank(JobId j) const;
  /// Among running jobs the last gives way first: lowest priority, then who loses least of each GPU's time (work since the last
  /// checkpoint plus restart), or who started last.
  [[nodiscard]] Rank leaving_rank(JobId j) const;

  /// Since when its work would be lost if it were stopped now. A job that has never saved is taken at its word: it saves at least once in
  /// its interval.
  [[nodiscard]] Instant work_kept_at(JobId j) const {
    const JobRecord& r = s_.jobs[j.index()];
    const Duration interval = s_.terms_of(j).checkpoint.interval;
    return r.saved > r.started || interval == kUnlimited ? r.saved : std::max(r.saved, s_.now - interval);
  }
  /// Of the time of each of its GPUs: the work since it last saved, and its restart.
  [[nodiscard]] Duration lost_if_stopped(JobId j) const { return s_.now - work_kept_at(j) + s_.terms_of(j).checkpoint.restart; }
  /// It runs, and is told to leave for others.
  void note_cut_short(JobId j);

 private:
  [[nodiscard]] bool goes_first_again(JobId j, const Rank& rank) const;
  [[nodiscard]] Duration term_of(JobId j) const;

  Scheduler::Impl& s_;
  StopBook& book_;
  bool reclaims_;  // asked for each of those that run
};

}  // namespace stint::sched
