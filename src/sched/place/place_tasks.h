// Placing tasks among given nodes, all or none: the part of gang placement that knows no groups and no topology.
//
// In the order given; if that fails and the tasks differ, the most constrained first; then by a bounded depth-first search.
// Equal tasks without neighbours to mind need no more than the first: whichever node takes one, as many fit in the end.
#pragma once

#include <span>
#include <vector>

#include "sched/place/cluster.h"
#include "sched/place/place_rules.h"

namespace stint::sched {

class TaskPlacer {
 public:
  /// @param pick  outlives the placer.
  TaskPlacer(Cluster& cluster, Room room, const PickPlace& pick, Instant now)
      : cluster_(cluster), room_(room), pick_(pick), now_(now) {}

  /// Runs or nominates (by room) all `tasks`, or leaves everything as it was.
  bool place(std::span<const TaskId> tasks, const Scope& scope);
  /// false: counting shows already that they do not fit. Says nothing of tasks that wait for each other's neighbourhood.
  [[nodiscard]] bool may_fit(std::span<const TaskId> tasks, const Scope& scope) const;
  /// Each task in turn while it fits. @return those placed.
  std::vector<TaskId> place_some(std::span<const TaskId> tasks, const Scope& scope);
  /// What is free in the room asked; a nominated task's promise may still lie on it.
  [[nodiscard]] const NodeTable& table() const { return room_ == Room::kFree ? cluster_.free() : cluster_.coming(); }

 private:
  [[nodiscard]] bool may_fit(RequestId r, int64_t count, const Scope& scope, bool alone) const;
  [[nodiscard]] bool order_matters(std::span<const TaskId> tasks) const;
  bool place_in_order(std::span<const TaskId> tasks, const Scope& scope);
  [[nodiscard]] std::vector<TaskId> hardest_first(std::span<const TaskId> tasks, const Scope& scope) const;
  bool search(std::span<const TaskId> tasks, const Scope& scope, uint32_t from);
  void put(TaskId t, const Place& place);

  Cluster& cluster_;
  Room room_;
  const PickPlace& pick_;
  Instant now_;
  int steps_ = 0;  // of search, over all calls
};

}  // namespace stint::sched
