#include "rounds/round.h"

#include "rounds/action_consolidate.h"
#include "rounds/action_preempt.h"
#include "rounds/action_reclaim.h"
#include "rounds/action_stale.h"
#include "sched/rounds/action_allocate.h"
#include "sched/rounds/job_order.h"

namespace stint::sched {

void allocate_all(State& state) {
  WaitingJobs waiting(state, [](JobId) { return true; });
  while (const std::optional<JobId> job = waiting.take())
    if (allocate_job(state, *job) != Placed::kNo) waiting.put_back(*job);
}

void run_round(State& state, std::span<const Step> steps) {
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
