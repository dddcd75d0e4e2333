// What is learnt from jobs that end, and what is thought of those that have not: how long they run, and so where they rank.
#pragma once

#include <optional>

#include "sched/durations/duration_book.h"
#include "sched/durations/run_forecast.h"
#include "sched/explanation.h"
#include "sched/job_table.h"
#include "sched/policy.h"
#include "sched/step_clock.h"

namespace stint::sched {

class Forecasts {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    const JobTable& jobs;
  };
  Forecasts(const View& view, DurationBook& book) : s_(view), book_(book) {}

  /// It has ended. A job that never ran says nothing.
  void learn_from(JobId j);
  /// Where it stands when its earlier starts have served it so long.
  [[nodiscard]] Rank rank_after(JobId j, Duration served) const;
  /// So many in a thousand like it have ended by then, if it starts now or has started; not before now. kNever = nothing is known.
  [[nodiscard]] Instant likely_end(JobId j, int per_mille) const;
  /// In all, for words. What it says itself has no interval. What only jobs of other users took says nothing of this one, and
  /// something of theirs.
  [[nodiscard]] std::optional<ExpectedRun> expected_run(JobId j) const;

 private:
  [[nodiscard]] std::optional<RunForecast> forecast(JobId j) const;
  [[nodiscard]] std::optional<Duration> cost_of_an_end(JobId j, Duration served) const;
  [[nodiscard]] Duration longest_thinkable(JobId j) const;

  View s_;
  DurationBook& book_;
};

}  // namespace stint::sched
