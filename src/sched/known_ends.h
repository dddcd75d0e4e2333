// Running jobs whose latest end is known, by it: what reservations rest on.
#pragma once

#include "sched/job_table.h"
#include "sched/policy.h"
#include "sched/queues/running_order.h"
#include "sched/step_clock.h"

namespace stint::sched {

class KnownEnds {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    JobTable& jobs;
  };
  KnownEnds(const View& view, RunningOrder& ends) : s_(view), ends_(ends) {}

  /// When the job will have ended if it starts (or started) as planned; kNever = cannot be said.
  [[nodiscard]] Instant latest_end(JobId j) const;
  /// It runs from now on. / It does so no longer.
  void began(JobId j);
  void stopped(JobId j);

 private:
  View s_;
  RunningOrder& ends_;
};

}  // namespace stint::sched
