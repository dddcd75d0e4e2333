// Contenders: both sides of a preemption as they come and go. Those that run stand in the order in which they give way; of those that
// wait, the newcomers are known that have become the first of their queue and shape.
#pragma once

#include "sched/scheduler_stop_rules.h"

namespace stint::sched {

class Contenders {
 public:
  struct View {
    const Policy& policy;
    StepClock& clock;
    JobTable& jobs;
    const QueueUsage& queues;
    const Pending& pending;
    const StopRules& rules;
  };
  Contenders(const View& view, StopBook& book) : s_(view), book_(book) {}

  /// It runs from now on. / It does so no longer.
  void began(JobId j);
  void stopped(JobId j);
  /// Less would be lost if it were stopped: its place among the running changes.
  void saved_work(JobId j);
  void fire_level_timers();
  /// It waits from now on. What was in vain for its shape's head need not be for it, when that is of another queue.
  void note_newcomer(JobId j);
  /// Is it the first of its queue and shape, and may that queue start jobs?
  [[nodiscard]] bool leads_its_queue(JobId j) const;

 private:
  void rank_running(JobId j);

  View s_;
  StopBook& book_;
};

}  // namespace stint::sched
