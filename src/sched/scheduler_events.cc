// What happened: events and timers change the state of jobs and nodes. Events that no longer apply (a job that had ended
// when the message arrived) are passed over.
#include "sched/scheduler_events.h"

#include <algorithm>

namespace stint::sched {

void Happenings::apply(const Event& e) {
  switch (e.kind) {
    case EventKind::kPrice: return change_price(e.node, e.price);
    case EventKind::kNodeUp:
      ++s_.clock.room_made, ++s_.clock.changes, ++s_.clock.fleet_changes;
      return s_.fleet.cluster.set_usable(e.node, true);
    case EventKind::kNodeDrain: return drain(e.node);
    case EventKind::kNodeDown: return lose_node(e.node);
    case EventKind::kNodeGone: return remove_node(e.node);
    case EventKind::kSpotNotice: return clear_node(e.node);
    case EventKind::kFinished: return finished(e.job);
    case EventKind::kFailed: return failed(e.job);
    case EventKind::kLost: return lose_task(e.task);
    case EventKind::kEvicted: return task_left(e.task);
    case EventKind::kCheckpoint: return saved_work(e.job);
    case EventKind::kMetric: return reached_rung(e.job, e.rung, e.loss_micro);
    case EventKind::kCancel: return cancel(e.job);
    case EventKind::kHold: return hold(e.job);
    case EventKind::kRelease: return let_start(e.job);
    case EventKind::kSubmit: return submit(e.job);
    case EventKind::kTick: return;
  }
}

void Happenings::submit(JobId j) {
  JobRecord& r = s_.jobs[j];
  if (r.phase != Phase::kKnown) return;
  r.submitted = r.submitted == Instant() ? s_.clock.now : std::min(r.submitted, s_.clock.now);
  r.phase = Phase::kNotYet;
  s_.gates.wait_for_others(j);
}

void Happenings::saved_work(JobId j) {
  JobRecord& r = s_.jobs[j];
  if (r.phase != Phase::kRunning) return;
  r.saved = s_.clock.now;
  s_.contenders.saved_work(j);
}

/// A trial tells how good it is, be it the last thing it does. What it tells again, after it fell back to a checkpoint, says
/// nothing new.
void Happenings::reached_rung(JobId j, int32_t rung, int64_t loss_micro) {
  JobRecord& r = s_.jobs[j];
  const StudyId study = s_.jobs.terms_of(j).study;
  if (!study.valid() || rung < r.rungs) return;
  Asha& asha = s_.studies[study.index()];
  if (rung >= asha.rungs()) return;
  r.rungs = rung + 1;
  asha.report(rung, {.trial = j.index(), .loss_micro = loss_micro});
  if (r.phase != Phase::kRunning || !asha.is_hopeless(rung, j.index())) return;
  s_.life.evict(j, Reason::kHopelessTrial, {});
  r.ends_when_left = true;
}

void Happenings::finished(JobId j) {
  const Phase phase = s_.jobs[j].phase;
  if (phase != Phase::kRunning && phase != Phase::kLeaving) return;
  s_.life.stop_serving(j);
  s_.life.release(j, TaskState::kDone);
  s_.gates.end(j, true);
}

void Happenings::failed(JobId j) {
  JobRecord& r = s_.jobs[j];
  if (r.phase != Phase::kRunning && r.phase != Phase::kLeaving) return;
  s_.life.stop_serving(j);
  // Taken back or out of time, it does not come again, whichever way it leaves.
  if (!r.ends_when_left && r.failures++ < s_.jobs.terms_of(j).retries) {
    s_.life.release(j, TaskState::kPending);
    s_.life.wait(j);
  } else {
    s_.life.release(j, TaskState::kFailed);
    s_.gates.end(j, false);
  }
}

void Happenings::task_left(TaskId t) {
  if (s_.fleet.cluster.task(t).state != TaskState::kReleasing) return;
  const JobId j = s_.fleet.cluster.task(t).job;
  JobRecord& r = s_.jobs[j];
  s_.fleet.cluster.gone(t, TaskState::kPending);
  ++s_.clock.room_made;
  ++s_.clock.changes;
  --r.leaving;
  s_.accounts.meter(j);
  if (r.leaving + r.running == 0) return came_off(j);
  if (r.phase == Phase::kRunning) s_.moves.join_at_kept_room(j, t);
}

/// The last of its tasks is gone: it waits, unless it ends here or has room elsewhere.
void Happenings::came_off(JobId j) {
  s_.jobs.depart(j);
  if (s_.jobs[j].ends_when_left) {
    s_.moves.drop(j);
    s_.gates.end(j, false);
  } else if (!s_.moves.take_kept_room(j)) {
    s_.life.wait(j);
  }
}

void Happenings::cancel(JobId j) {
  JobRecord& r = s_.jobs[j];
  switch (r.phase) {
    case Phase::kEnded: return;
    case Phase::kWaiting:
      ++s_.clock.changes;  // what was reserved for it is free
      s_.pending.removed(s_.accounts.queues(), r.queue, r.shape, {.rank = r.rank, .job = j});
      break;
    case Phase::kHeld: s_.life.release(j, TaskState::kPending); break;
    case Phase::kRunning: s_.life.evict(j, Reason::kCancelled, {}); [[fallthrough]];
    case Phase::kLeaving: r.ends_when_left = true; return;
    case Phase::kKnown:
    case Phase::kNotYet:
    case Phase::kOnHold: break;
  }
  s_.gates.end(j, false);
}

/// Gates it has still to pass open for it as for any; it stops at the last.
void Happenings::hold(JobId j) {
  JobRecord& r = s_.jobs[j];
  if (r.phase == Phase::kEnded || r.on_hold) return;
  r.on_hold = true;
  if (r.phase == Phase::kWaiting) {
    ++s_.clock.changes;  // what was reserved for it is free
    s_.pending.removed(s_.accounts.queues(), r.queue, r.shape, {.rank = r.rank, .job = j});
    s_.life.wait(j);
  } else if (r.phase == Phase::kHeld) {
    s_.life.give_up(j);
  }
}

void Happenings::let_start(JobId j) {
  JobRecord& r = s_.jobs[j];
  r.on_hold = false;
  if (r.phase == Phase::kOnHold) s_.life.wait(j);
}

/// What ran on the node is lost. A gang that loses a task leaves elsewhere too, unless enough of it is left.
void Happenings::lose_node(NodeId n) {
  ++s_.clock.fleet_changes;
  ++s_.clock.room_made;  // elsewhere, for those that refused its neighbourhood
  s_.fleet.cluster.set_usable(n, false);
  s_.life.give_up_held(n);
  s_.moves.drop_to(n);
  for (const JobId j : s_.jobs.jobs_on(n)) {
    Amounts lost;
    for (TaskId t = s_.jobs.first_task(j); t != s_.jobs.end_task(j); t = next(t))
      if (s_.fleet.cluster.task(t).on_node() && s_.fleet.cluster.task(t).place.node == n) lose(t, lost);
    s_.accounts.charge(j, lost, -1);
    s_.accounts.meter(j);
    after_loss(j);
  }
}

/// Nothing here knows of it any more. What was thought of its id is thought anew: `changes` grows.
void Happenings::remove_node(NodeId n) {
  lose_node(n);
  const NodeSpec& node = s_.fleet.cluster.node(n);
  s_.accounts.add_capacity(
      {.gpu_milli = -int64_t{node.gpus} * kMilli, .cpu_milli = -node.cpu_milli, .memory_bytes = -node.memory.count()});
  s_.fleet.gpu_rates[n.index()] = {};
  s_.fleet.price_tiers.remove(n);
  s_.fleet.gpu_models.remove(n);
  s_.fleet.capacity.set(n, NodeBuckets::kNowhere);
  s_.times.forget_node(n);
  s_.backfill.forget_node(n);
  for (uint32_t r = 0; r < s_.fleet.cluster.request_count(); ++r)
    s_.fleet.scores.forget(RequestId(r));
  s_.fleet.cluster.remove_node(n);
  ++s_.clock.changes;
}

/// What runs there goes on; whoever was promised room there, or moves there, waits for other room.
void Happenings::drain(NodeId n) {
  ++s_.clock.fleet_changes;
  s_.fleet.cluster.set_usable(n, false);
  s_.life.give_up_held(n);
  s_.moves.drop_to(n);
}

/// A task that is lost, whose room can be used again.
void Happenings::lose_task(TaskId t) {
  const TaskState state = s_.fleet.cluster.task(t).state;
  if (state != TaskState::kRunning && state != TaskState::kReleasing) return;
  const JobId j = s_.fleet.cluster.task(t).job;
  Amounts lost;
  lose(t, lost);
  ++s_.clock.room_made;
  s_.accounts.charge(j, lost, -1);
  s_.accounts.meter(j);
  after_loss(j);
}

void Happenings::lose(TaskId t, Amounts& lost) {
  const Task& task = s_.fleet.cluster.task(t);
  JobRecord& r = s_.jobs[task.job];
  const bool leaving = task.state == TaskState::kReleasing;
  --(leaving ? r.leaving : r.running);
  if (!leaving) add_to(lost, s_.fleet.cluster.amounts(task.request));
  s_.fleet.cluster.gone(t, TaskState::kPending);
}

/// Some tasks of `j` are gone: it goes on with enough of them, else the rest leaves and it waits again.
void Happenings::after_loss(JobId j) {
  JobRecord& r = s_.jobs[j];
  if (r.phase == Phase::kRunning && !s_.jobs.could_go_on_without(j, {})) {
    if (r.running > 0)
      return s_.policy.gang_grace > Duration() ? s_.life.allow_grace(j) : s_.life.evict(j, Reason::kStaleGang, {});
    s_.life.stop_serving(j);
    r.phase = Phase::kLeaving;
  }
  if (r.phase == Phase::kLeaving && r.leaving == 0) came_off(j);
}

/// The node will be taken away: its jobs save their work and leave, nothing new comes.
void Happenings::clear_node(NodeId n) {
  ++s_.clock.fleet_changes;
  s_.fleet.cluster.set_usable(n, false);
  s_.life.give_up_held(n);
  s_.moves.drop_to(n);
  for (const JobId j : s_.jobs.jobs_on(n))
    if (s_.jobs[j].phase == Phase::kRunning) s_.life.evict(j, Reason::kSpotNotice, {});
}

void Happenings::change_price(NodeId n, Rate gpu_rate) {
  s_.fleet.gpu_rates[n.index()] = gpu_rate;
  if (s_.fleet.cluster.node(n).gpus > 0) s_.fleet.price_tiers.set(n, gpu_rate);
  if (!s_.accounts.budgets().any()) return;
  for (const JobId j : s_.jobs.jobs_on(n))
    s_.accounts.meter(j);
}

void Happenings::fire_timers() {
  while (!s_.runs.timers.empty() && s_.runs.timers.top().at <= s_.clock.now) {
    const Timer timer = s_.runs.timers.pop();
    JobRecord& r = s_.jobs[timer.job];
    if (timer.starts != r.starts) continue;
    if (timer.kind == TimerKind::kBegin && r.phase == Phase::kNotYet && r.blockers == 0 &&
        s_.jobs.terms_of(timer.job).not_before <= s_.clock.now && !s_.times.defer(timer.job))
      s_.life.wait(timer.job);
    if (timer.kind == TimerKind::kBroken && r.phase == Phase::kRunning && !s_.jobs.could_go_on_without(timer.job, {}))
      s_.life.evict(timer.job, Reason::kStaleGang, {});
    if (timer.kind == TimerKind::kLimit && r.phase == Phase::kRunning) {
      s_.life.evict(timer.job, Reason::kTimeLimit, {});
      r.ends_when_left = true;
    }
  }
}

}  // namespace stint::sched
