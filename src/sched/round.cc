#include "sched/round.h"

#include "sched/action_allocate.h"
#include "sched/action_consolidate.h"
#include "sched/action_preempt.h"
#include "sched/action_reclaim.h"
#include "sched/action_stale.h"

namespace stint::sched {

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
