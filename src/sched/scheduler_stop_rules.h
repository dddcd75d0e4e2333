// Whom a waiting job may stop, and who gives way first. The rules stand at the head of scheduler_preempt.cc.
#pragma once

#include <algorithm>
#include <optional>

#include "sched/scheduler_accounts.h"
#include "sched/scheduler_durations.h"

namespace stint::sched {

/// On which grounds others are stopped.
enum class Ground : uint8_t { kAny, kReclaim, kPriority };

class StopRules {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    JobTable& jobs;  ///< notes who was cut short
    const Cluster& cluster;
    const QueueUsage& queues;
    const Accounts& accounts;
    const Forecasts& forecasts;
    const StepDraft& draft;
    const VictimSketch& sketch;
  };
  StopRules(const View& view, StopBook& book);

  /// Does anybody ask who of those that run gives way first?
  [[nodiscard]] bool ranks_running() const;
  /// Does it take back what other queues hold above their due? Not where remaining time alone decides, over all queues: what is taken
  /// back by share would be taken again by rank, for ever.
  [[nodiscard]] bool reclaims() const { return may_reclaim_ && (shares_fairly_ || s_.queues.any_deserved()); }
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
    const JobRecord& r = s_.jobs[j];
    const Duration interval = s_.jobs.terms_of(j).checkpoint.interval;
    return r.saved > r.started || interval == kUnlimited ? r.saved : std::max(r.saved, s_.clock.now - interval);
  }
  /// Of the time of each of its GPUs: the work since it last saved, and its restart.
  [[nodiscard]] Duration lost_if_stopped(JobId j) const {
    return s_.clock.now - work_kept_at(j) + s_.jobs.terms_of(j).checkpoint.restart;
  }
  /// Does this step start `v`, and may that still be dropped? Not for one that starts on room others have left for it, nor where another
  /// may have started to be beside it.
  [[nodiscard]] bool may_drop_start(JobId v) const;
  /// It runs, and is told to leave for others.
  void note_cut_short(JobId j);

 private:
  [[nodiscard]] bool goes_first_again(JobId j, const Rank& rank) const;
  [[nodiscard]] Duration term_of(JobId j) const;

  View s_;
  StopBook& book_;
  bool may_reclaim_;  // asked for each of those that run
  bool shares_fairly_;
};

}  // namespace stint::sched
