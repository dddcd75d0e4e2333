#include "sched/search/allocate.h"

namespace stint::sched {

Placed allocate_job(State& state, JobId job) {
  const std::vector<TaskId> tasks = state.next_tasks(job);
  if (tasks.empty()) return Placed::kNo;
  if (state.place(tasks, Room::kFree)) return Placed::kRunning;
  if (state.place(tasks, Room::kComing)) return Placed::kNominated;
  return Placed::kNo;
}

}  // namespace stint::sched
