// Jobs that are told to leave and have new room already: stand-ins, tasks of no job, keep it until they have left. Their queues go on
// paying for it.
#pragma once

#include <span>
#include <vector>

#include "sched/scheduler_accounts.h"
#include "sched/scheduler_place.h"

namespace stint::sched {

class Moves {
 public:
  struct View {
    StepClock& clock;
    JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    std::vector<JobId>& held;
    Accounts& accounts;
    Placer& placer;
    StepDraft& draft;
  };
  Moves(const View& view, MoveBook& book) : s_(view), book_(book) {}

  /// Stand-ins keep these places for a job that is leaving.
  void keep_room(JobId v, std::span<const TaskId> tasks, std::span<const Place> new_places);
  /// The same on room that is free now, neither promised nor reserved; there is enough.
  void keep_free_room(JobId v, std::span<const TaskId> tasks);
  /// `v` has left: the room kept for it is its own now. @return false when none was kept.
  bool take_kept_room(JobId v);
  /// A task of a job that runs on has left for other room: it joins the rest from there, if that room is free already.
  void join_at_kept_room(JobId v, TaskId t);
  /// No room is kept for it any longer, if any was.
  void drop(JobId v);
  /// The node takes no job: those who were to move there wait like others when they have left.
  void drop_to(NodeId n);

  /// As many tasks of no job, each asking for the same as one of these.
  std::vector<TaskId> take_stand_ins(std::span<const TaskId> tasks);
  void give_back_stand_ins(std::span<const TaskId> stand_ins);
  /// On room that is free now, neither promised nor reserved. @return false when there is none for one of them.
  bool place_stand_ins(std::span<const TaskId> stand_ins);
  [[nodiscard]] std::vector<TaskId> running_tasks(JobId v) const;

 private:
  View s_;
  MoveBook& book_;
};

}  // namespace stint::sched
