#include "sched/scheduler_life.h"

#include <algorithm>
#include <utility>

namespace stint::sched {

void Lifecycle::wait(JobId j) {
  JobRecord& r = s_.jobs[j];
  r.admitted = false;
  if (r.on_hold) {
    r.phase = Phase::kOnHold;
    return;
  }
  r.phase = Phase::kWaiting;
  r.rank = s_.forecasts.rank_after(j, r.served);
  s_.pending.push(s_.accounts.queues(), r.queue, r.shape,
                  s_.policy.shares == ShareRule::kFair ? s_.jobs.least_amounts(j) : s_.jobs.shape(r.shape).total,
                  s_.jobs.shape(r.shape).preemptible, {.rank = r.rank, .job = j});
  s_.contenders.note_newcomer(j);
}

void Lifecycle::began(JobId j) {
  JobRecord& r = s_.jobs[j];
  r.phase = Phase::kRunning;
  r.ends_when_left = false;
  r.admitted = r.freed_for = false;
  r.started = r.saved = s_.clock.now;
  s_.accounts.meter(j);
  ++r.starts;
  ++s_.clock.changes;
  if (s_.jobs.is_neighbour(j)) ++s_.clock.room_made;  // for those that want to be beside it
  if (r.running < s_.jobs.shape(r.shape).tasks) book_.growing.push_back(j);
  s_.contenders.began(j);
  s_.ends.began(j);
  if (r.time_limit != kUnlimited) s_.jobs.set_timer(book_.timers, s_.clock.now + r.time_limit, j, TimerKind::kLimit);
}

void Lifecycle::release(JobId j, TaskState then) {
  JobRecord& r = s_.jobs[j];
  const Shape& shape = s_.jobs.shape(r.shape);
  const bool all = r.running == shape.tasks;  // the usual case: the sum is known
  Amounts given_back = all ? shape.total : Amounts();
  for (TaskId t = s_.jobs.first_task(j); t != s_.jobs.end_task(j); t = next(t)) {
    const Task& task = s_.cluster.task(t);
    if (!task.on_node()) continue;
    if (!all && task.active()) add_to(given_back, s_.cluster.amounts(task.request));
    s_.cluster.gone(t, then);
  }
  if (r.phase == Phase::kHeld) std::erase(book_.held, j);
  s_.moves.drop(j);
  r.running = r.leaving = r.held = 0;
  ++s_.clock.room_made;
  s_.jobs.depart(j);
  s_.accounts.charge(j, given_back, -1);
  s_.accounts.meter(j);
}

void Lifecycle::stop_serving(JobId j) {
  JobRecord& r = s_.jobs[j];
  if (r.phase != Phase::kRunning) return;
  r.served += s_.clock.now - r.started;
  s_.contenders.stopped(j);
  s_.ends.stopped(j);
}

void Lifecycle::begin_to_hold(JobId j) {
  JobRecord& r = s_.jobs[j];
  s_.pending.removed(s_.accounts.queues(), r.queue, r.shape, {.rank = r.rank, .job = j});
  r.phase = Phase::kHeld;
  s_.jobs.arrive(j);
}

void Lifecycle::finish_holding(JobId j) {
  JobRecord& r = s_.jobs[j];
  Amounts promised;
  for (const Task& task : s_.jobs.tasks_of(j)) {
    if (task.state != TaskState::kNominated) continue;
    ++r.held;
    add_to(promised, s_.cluster.amounts(task.request));
  }
  book_.held.push_back(j);
  s_.accounts.charge(j, promised, 1);
  s_.open.catch_up(s_.cluster);
}

void Lifecycle::start_on_held_room(JobId j, Reason reason) {
  s_.draft.decide(DecisionKind::kStart, reason, j);
  JobRecord& r = s_.jobs[j];
  for (TaskId t = s_.jobs.first_task(j); t != s_.jobs.end_task(j); t = next(t)) {
    if (s_.cluster.task(t).state != TaskState::kNominated) continue;
    s_.cluster.run(t, s_.cluster.task(t).place, s_.clock.now);
    s_.draft.add_place(s_.cluster.task(t).place);
  }
  r.running = std::exchange(r.held, 0);
  began(j);
  r.freed_for = reason == Reason::kHeld;
}

void Lifecycle::give_up(JobId j) {
  release(j, TaskState::kPending);
  wait(j);
}

void Lifecycle::give_up_held(NodeId n) {
  for (const JobId j : s_.jobs.jobs_on(n))
    if (s_.jobs[j].phase == Phase::kHeld) give_up(j);
}

void Lifecycle::evict(JobId j, Reason reason, JobId for_job) {
  JobRecord& r = s_.jobs[j];
  s_.draft.decide(DecisionKind::kEvict, reason, j).for_job = for_job;
  if (for_job.valid()) s_.jobs[for_job].admitted = true;
  if (reason == Reason::kPriority || reason == Reason::kReclaim) s_.rules.note_cut_short(j);
  s_.moves.drop(j);  // of some of its tasks: now all of it leaves
  Amounts given_back;
  for (TaskId t = s_.jobs.first_task(j); t != s_.jobs.end_task(j); t = next(t)) {
    if (s_.cluster.task(t).state != TaskState::kRunning) continue;
    add_to(given_back, s_.cluster.amounts(s_.cluster.task(t).request));
    s_.cluster.leave(t);
    s_.draft.add_place(s_.cluster.task(t).place);
  }
  r.leaving += std::exchange(r.running, 0);
  stop_serving(j);
  r.phase = Phase::kLeaving;
  s_.accounts.charge(j, given_back, -1);
}

void Lifecycle::stop_tasks(JobId v, std::span<const TaskId> tasks, Reason reason, JobId for_job) {
  JobRecord& r = s_.jobs[v];
  if (take_back_start(v)) return;
  if (static_cast<size_t>(r.running) == tasks.size()) return evict(v, reason, for_job);
  s_.draft.decide(DecisionKind::kEvict, reason, v).for_job = for_job;
  if (for_job.valid()) s_.jobs[for_job].admitted = true;
  for (const TaskId t : tasks) {
    s_.cluster.leave(t);
    s_.draft.add_place(s_.cluster.task(t).place);
  }
  r.running -= static_cast<int32_t>(tasks.size());
  r.leaving += static_cast<int32_t>(tasks.size());
  if (std::ranges::find(book_.growing, v) == book_.growing.end()) book_.growing.push_back(v);
  s_.accounts.charge(v, s_.jobs.amounts_of(tasks), -1);
}

bool Lifecycle::take_back_start(JobId v) {
  if (!s_.rules.may_drop_start(v)) return false;
  s_.draft.take_back_start(v);
  stop_serving(v);
  release(v, TaskState::kPending);
  std::erase(book_.growing, v);
  wait(v);
  return true;
}

void Lifecycle::allow_grace(JobId j) {
  if (std::ranges::find(book_.growing, j) == book_.growing.end()) book_.growing.push_back(j);
  if (s_.policy.gang_grace != kUnlimited)
    s_.jobs.set_timer(book_.timers, s_.clock.now + s_.policy.gang_grace, j, TimerKind::kBroken);
}

}  // namespace stint::sched
