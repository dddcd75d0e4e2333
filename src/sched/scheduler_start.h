// Starting jobs: on what is open, on room that was promised, and elastic ones with one task more.
#pragma once

#include <optional>

#include "sched/scheduler_heads.h"
#include "sched/scheduler_life.h"

namespace stint::sched {

class Starter {
 public:
  struct View {
    StepClock& clock;
    JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    Pending& pending;
    Accounts& accounts;
    StartTimes& times;
    Heads& heads;
    Placer& placer;
    Lifecycle& life;
    const std::vector<Reservation>& reservations;
    StepDraft& draft;
  };
  Starter(const View& view, RunBook& book) : s_(view), book_(book) {}

  /// Starts a waiting job on what is open. @return false when it does not fit.
  bool start(JobId j, Reason reason);
  /// Starts those whose promised room is free now.
  void start_held(Reason reason);
  /// Elastic jobs take what no job waits for.
  void grow();

 private:
  bool start_on_open(JobId j, Reason reason);
  void give_up_unpaid();
  void give_up_lonely();
  bool can_start_held(JobId j);
  bool grow_one(JobId j);
  bool grow_on_open(JobId j);
  bool grow_in_detail(JobId j);

  View s_;
  RunBook& book_;
};

}  // namespace stint::sched
