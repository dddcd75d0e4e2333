#include "cycles/cycle.h"

#include "cycles/action_consolidate.h"
#include "cycles/action_preempt.h"
#include "cycles/action_reclaim.h"
#include "cycles/action_stale.h"
#include "sched/search/allocate.h"
#include "sched/search/job_order.h"

namespace stint::sched {

void allocate_all(State& state) {
  WaitingJobs waiting(state, [](JobId) { return true; });
  while (const std::optional<JobId> job = waiting.take())
    if (allocate_job(state, *job) != Placed::kNo) waiting.put_back(*job);
}

void run_cycle(State& state, std::span<const Step> steps) {
  state.divide_shares();
  for (const Step step : steps)
    switch (step) {
      case Step::kAllocate: allocate_all(state); break;
      case Step::kConsolidate: consolidate_all(state); break;
      case Step::kReclaim: reclaim_all(state); break;
      case Step::kPreempt: preempt_all(state); break;
      case Step::kStaleGang: evict_all_stale(state); break;
    }
}

}  // namespace stint::sched
