// Gates: jobs that wait for jobs, and what a job's end means for those.
#pragma once

#include "sched/scheduler_life.h"
#include "sched/scheduler_time.h"

namespace stint::sched {

class Gates {
 public:
  struct View {
    const StepClock& clock;
    JobTable& jobs;
    const FleetBook& fleet;  ///< what could ever run
    TimerHeap& timers;
    Placer& placer;
    StartTimes& times;
    Forecasts& forecasts;
    Lifecycle& life;
    StepDraft& draft;
  };
  Gates(const View& view, GateBook& book) : s_(view), book_(book) {}

  void wait_for_others(JobId j);
  /// Does it wait for no other job?
  [[nodiscard]] bool is_past_gates(JobId j) const;
  /// The one at work on it; not valid = none. @param product  that is asked for by a job that was submitted.
  [[nodiscard]] JobId maker_of(ProductId product) const { return book_.products[product.index()].maker; }
  /// The job has ended: those that wait for it may begin, or never will.
  void end(JobId j, bool success);

 private:
  void become_ready(JobId j);
  bool is_to_make(JobId j);
  bool is_its_turn(JobId j);
  void come_into_play(JobId j);
  void reject(JobId j, Reason reason);
  void skip(JobId j);
  void call_dependents(JobId j);
  void call_next_of_array(JobId j);
  void settle_product(JobId j);

  View s_;
  GateBook& book_;
};

}  // namespace stint::sched
