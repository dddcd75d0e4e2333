// Making room in detail: a search on the cluster for jobs to stop, shrink or move, and carrying out what it finds.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/scheduler_life.h"
#include "sched/search/victims.h"

namespace stint::sched {

/// On the cluster alone: what runs of the job is told to leave.
void leave(Cluster& cluster, const JobTable& jobs, JobId v);

class RoomMaker {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    const Accounts& accounts;
    const StopRules& rules;
    Placer& placer;
    Lifecycle& life;
    Moves& moves;
    const StopBook& stopping;
    VictimSketch& sketch;
  };
  explicit RoomMaker(const View& view) : s_(view) {}

  /// Room for a job by stopping others. What is reclaimed and what gives way by priority are tried by themselves first.
  bool make_room_in_detail(JobId j, Ground ground);
  /// A plan that gives `j` room by stopping or moving `others`. Nothing is done yet.
  std::optional<RoomPlan> plan_room(JobId j, std::span<const Victim> others, const RoomRules& rules);
  /// Does it: those who give way leave, those who move leave with their new room kept, and `j` has its room promised.
  void carry_out(JobId j, const RoomPlan& plan, std::span<const Victim> grounds);

 private:
  [[nodiscard]] JobRun run_of(JobId j) const;
  State state_of_search(JobId j, std::span<const Victim> others);
  bool could_fit_without(JobId j, std::span<const Victim> others);
  [[nodiscard]] bool could_make_room(JobId victim, JobId j) const;
  std::vector<Victim> those_to_stop(JobId j);
  std::optional<RoomPlan> plan_reclaim(JobId j, std::span<const Victim> others);
  [[nodiscard]] bool may_take_by_due(JobId j, const Amounts& need, std::span<const Victim> grounds,
                                     std::span<const VictimChunk> chunks) const;

  View s_;
};

}  // namespace stint::sched
