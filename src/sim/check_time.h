// Checks of what the hour and the results of a search have to say: queues that are closed at times, trials that are stopped.
// The Checker's own books.
#pragma once

#include <string>
#include <vector>

#include "sim/workload.h"

namespace stint::sim {

class CheckedTimes {
 public:
  explicit CheckedTimes(const Workload& workload);

  /// Is the queue, or one above it, closed at `now`?
  [[nodiscard]] bool is_closed(sched::QueueId queue, Instant now) const;
  /// Do they have an open hour in common?
  [[nodiscard]] bool ever_opens(sched::QueueId queue) const;

  /// A trial has reported.
  void heard(sched::JobId trial, int32_t rung, int64_t loss_micro);
  /// Why the job must not be stopped as a hopeless trial; empty = it may be.
  [[nodiscard]] std::string problem_of_stopping(sched::JobId trial) const;

 private:
  struct Report {
    int32_t rung = 0;
    int64_t loss_micro = 0;
    int64_t number = 0;  ///< of all reports
  };
  [[nodiscard]] WeekHours closed_hours(sched::QueueId queue) const;

  const Workload* workload_;
  std::vector<std::vector<Report>> reports_;  ///< by job, each rung once
  int64_t heard_ = 0;
};

}  // namespace stint::sim
