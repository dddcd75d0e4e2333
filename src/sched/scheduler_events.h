// What happened: events and timers change the state of jobs and nodes.
#pragma once

#include <span>
#include <vector>

#include "sched/scheduler.h"
#include "sched/scheduler_backfill.h"
#include "sched/scheduler_pipeline.h"

namespace stint::sched {

class Happenings {
 public:
  struct View {
    const Policy& policy;
    StepClock& clock;
    JobTable& jobs;
    FleetBook& fleet;
    RunBook& runs;
    Pending& pending;
    std::vector<Asha>& studies;
    Accounts& accounts;
    StartTimes& times;
    Contenders& contenders;
    Moves& moves;
    Lifecycle& life;
    Gates& gates;
    Backfilling& backfill;
  };
  explicit Happenings(const View& view) : s_(view) {}

  void apply(const Event& e);
  void fire_timers();
  /// Tasks of a job are found on nodes, see Scheduler::adopt.
  bool adopt(JobId j, std::span<const FoundTask> found);

 private:
  void submit(JobId j);
  void saved_work(JobId j);
  void reached_rung(JobId j, int32_t rung, int64_t loss_micro);
  void finished(JobId j);
  void failed(JobId j);
  void task_left(TaskId t);
  void came_off(JobId j);
  void cancel(JobId j);
  void hold(JobId j);
  void let_start(JobId j);
  void drain(NodeId n);
  void lose_node(NodeId n);
  void remove_node(NodeId n);
  void lose_task(TaskId t);
  void lose(TaskId t, Amounts& lost);
  void after_loss(JobId j);
  void clear_node(NodeId n);
  void change_price(NodeId n, Rate gpu_rate);

  View s_;
};

}  // namespace stint::sched
