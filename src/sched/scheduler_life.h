// How a job goes from one phase to the next, and what of the books follows: room, accounts, timers, who runs and who waits.
#pragma once

#include <span>

#include "sched/known_ends.h"
#include "sched/scheduler_contenders.h"
#include "sched/scheduler_moves.h"

namespace stint::sched {

class Lifecycle {
 public:
  struct View {
    const Policy& policy;
    StepClock& clock;
    JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    Pending& pending;
    Accounts& accounts;
    const Forecasts& forecasts;
    StopRules& rules;
    Contenders& contenders;
    KnownEnds& ends;
    Moves& moves;
    StepDraft& draft;
  };
  Lifecycle(const View& view, RunBook& book) : s_(view), book_(book) {}

  void wait(JobId j);
  /// Takes `j` off the nodes entirely; its tasks become `then`.
  void release(JobId j, TaskState then);
  /// Its running time ends here.
  void stop_serving(JobId j);
  /// Bookkeeping of a job whose tasks have just begun to run.
  void began(JobId j);
  void begin_to_hold(JobId j);
  /// Its tasks are nominated: counts them.
  void finish_holding(JobId j);
  /// The room it was promised is free: it runs there.
  void start_on_held_room(JobId j, Reason reason);
  /// It has no room promised any longer, and waits again.
  void give_up(JobId j);
  /// Jobs that were promised room on the node wait again.
  void give_up_held(NodeId n);
  /// All that runs of it is told to leave. @param for_job  for whom; not valid = for none.
  void evict(JobId j, Reason reason, JobId for_job);
  /// These tasks of a running job leave: some of an elastic job, or all of it.
  void stop_tasks(JobId v, std::span<const TaskId> tasks, Reason reason, JobId for_job);
  /// `v` does not start after all, and waits on as before. @return false when its start stands, or it runs for longer.
  bool take_back_start(JobId v);
  /// Its gang is broken: it leaves unless it is whole again by then.
  void allow_grace(JobId j);

 private:
  View s_;
  RunBook& book_;
};

}  // namespace stint::sched
