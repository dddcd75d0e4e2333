#include "cycles/action_stale.h"

namespace stint::sched {

bool evict_if_stale(State& state, JobId job) {
  JobRun& run = state.job(job);
  if (state.running(job) == 0 || state.whole(job)) {
    run.broken_since = kNever;
    return false;
  }
  if (run.broken_since == kNever) run.broken_since = state.now();
  if (state.now() - run.broken_since < state.rules().stale_gang_grace) return false;
  for (uint32_t t = run.first.index(); t < run.first.index() + static_cast<uint32_t>(run.spec.tasks); ++t)
    if (state.cluster().task(TaskId(t)).state == TaskState::kRunning) state.leave(TaskId(t));
  run.broken_since = kNever;
  return true;
}

std::vector<JobId> evict_all_stale(State& state) {
  std::vector<JobId> evicted;
  for (uint32_t j = 0; j < state.job_count(); ++j)
    if (evict_if_stale(state, JobId(j))) evicted.push_back(JobId(j));
  return evicted;
}

}  // namespace stint::sched
