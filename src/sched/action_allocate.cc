#include "sched/action_allocate.h"

#include "sched/job_order.h"

namespace stint::sched {

Placed allocate_job(State& state, JobId job) {
  const std::vector<TaskId> tasks = state.next_tasks(job);
  if (tasks.empty()) return Placed::kNo;
  if (state.place(tasks, Room::kFree)) return Placed::kRunning;
  if (state.place(tasks, Room::kComing)) return Placed::kNominated;
  return Placed::kNo;
}

void allocate_all(State& state) {
  WaitingJobs waiting(state, [](JobId) { return true; });
  while (const std::optional<JobId> job = waiting.take())
    if (allocate_job(state, *job) != Placed::kNo) waiting.put_back(*job);
}

}  // namespace stint::sched
