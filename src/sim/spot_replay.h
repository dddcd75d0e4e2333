// A task with a deadline replayed on a recorded stretch of spot capacity.
//
// The world of sched/spot/spot_policy.h: it lets ticks pass, counts what is paid, and shows the policy no more than the tick that
// begins. Whole ticks are paid, the last one too. A template, because 50 million decisions a second leave no room for a
// virtual call each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/money.h"
#include "sched/spot/spot_policy.h"

namespace stint::sim {

struct SpotPrices {
  Rate on_demand;
  Rate spot;
};

struct SpotRun {
  int64_t on_demand_ticks = 0;
  int64_t spot_ticks = 0;
  int64_t ticks = 0;  ///< until the work was done, or given up at the deadline
  bool missed = false;

  friend bool operator==(const SpotRun&, const SpotRun&) = default;
};

/// Cost of the run over the cost of the work alone on on-demand, without a changeover. @param prices  on-demand above 0.
double cost_ratio(const SpotRun& run, const sched::SpotTask& task, const SpotPrices& prices);

/// @param task       passes check().
/// @param available  a byte per tick, 0 = no spot; at least as many as there are ticks before the deadline.
template <typename Policy>
SpotRun replay_spot(const sched::SpotTask& task, std::span<const uint8_t> available, Policy& policy) {
  using sched::SpotTake;
  const int64_t deadline_ticks = task.deadline_s / task.tick_s;
  CHECK(std::ssize(available) >= deadline_ticks, "{} ticks of capacity for {} before the deadline", available.size(),
        deadline_ticks);
  SpotRun run;
  sched::SpotMoment now{.work_left_s = task.work_s};
  policy.begin();
  while (now.work_left_s > 0 && run.ticks < deadline_ticks) {
    now.spot_available = available[static_cast<size_t>(run.ticks)] != 0;
    if (now.held == SpotTake::kSpot && !now.spot_available) now.held = SpotTake::kIdle;
    const SpotTake take = policy.choose(now);
    CHECK(take != SpotTake::kSpot || now.spot_available, "a policy takes spot that is not there");
    if (take != SpotTake::kIdle) {
      if (take != now.held) now.changeover_left_s = task.changeover_s;
      const int64_t changing = std::min(now.changeover_left_s, task.tick_s);
      now.changeover_left_s -= changing;
      now.work_left_s -= std::min(task.tick_s - changing, now.work_left_s);
      ++(take == SpotTake::kSpot ? run.spot_ticks : run.on_demand_ticks);
    }
    now.held = take;
    ++run.ticks;
    now.elapsed_s += task.tick_s;
  }
  run.missed = now.work_left_s > 0;
  return run;
}

}  // namespace stint::sim
