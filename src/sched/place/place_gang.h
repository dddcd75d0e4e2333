// Placing a gang: all its tasks, or none.
//
// The tasks of a gang are placed one after the other; which node a task goes to is the picker's choice (one call per task,
// so a picker may hold an index over the cluster or look at every node). Required topology levels bind all tasks of the job
// or group to one domain; preferred levels try the narrowest domains first and give up narrowness only when nothing fits.
// When the tasks differ and the plain order fails, the hardest to place go first, then a bounded search decides.
#pragma once

#include <span>
#include <vector>

#include "sched/job.h"
#include "sched/place/cluster.h"
#include "sched/place/place_rules.h"

namespace stint::sched {

/// How the tasks of one job are placed together.
struct GangTerms {
  const Gang* gang = nullptr;   ///< groups and topology; nullptr = neither. Tasks name their leaf in Task::group
  std::span<const Task> mates;  ///< all tasks of the job: those running or nominated bind required domains. May be empty
  Room room = Room::kFree;
  Instant now;
  Scope within;  ///< nodes that may be taken
};

/// All or nothing: places `tasks` (pending) of one job and runs (Room::kFree) or nominates (Room::kComing) them. On failure
/// the cluster is as before. Works inside an open trial or without one.
/// @return whether it was placed.
bool place_gang(Cluster& cluster, std::span<const TaskId> tasks, const PickPlace& pick, const GangTerms& terms);

/// Which tasks of a job must be placed together next: while a leaf (or the job) has fewer than its minimum active, those that
/// bring every leaf to its minimum; afterwards the next single one. Higher task priority first, then the older.
/// @param first  the job's first task; its `count` tasks are contiguous. @param min_tasks  of a job without groups.
/// @return empty when nothing is pending, or too few are left to reach the minimum.
std::vector<TaskId> next_tasks(const Cluster& cluster, TaskId first, int32_t count, const Gang* gang, int32_t min_tasks);

}  // namespace stint::sched
