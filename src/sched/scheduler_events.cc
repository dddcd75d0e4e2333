// What happened: events and timers change the state of jobs and nodes. Events that no longer apply (a job that had ended
// when the message arrived) are passed over.
#include <algorithm>

#include "sched/scheduler_backfill.h"
#include "sched/scheduler_moves.h"
#include "sched/scheduler_preempt.h"

namespace stint::sched {

void Scheduler::Impl::apply(const Event& e) {
  switch (e.kind) {
    case EventKind::kPrice: return change_price(e.node, e.price);
    case EventKind::kNodeUp: ++room_made, ++changes, ++fleet_changes; return cluster.set_usable(e.node, true);
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

void Scheduler::Impl::submit(JobId j) {
  JobRecord& r = jobs[j.index()];
  if (r.phase != Phase::kKnown) return;
  r.submitted = r.submitted == Instant() ? now : std::min(r.submitted, now);
  r.phase = Phase::kNotYet;
  wait_for_others(j);
}

void Scheduler::Impl::wait(JobId j) {
  JobRecord& r = jobs[j.index()];
  r.admitted = false;
  if (r.on_hold) {
    r.phase = Phase::kOnHold;
    return;
  }
  r.phase = Phase::kWaiting;
  r.rank = rank_after(j, r.served);
  pending.push(queues, r.queue, r.shape, policy.shares == ShareRule::kFair ? least_amounts(j) : shapes[r.shape].total,
               shapes[r.shape].preemptible, {.rank = r.rank, .job = j});
  Preemption(*this).note_newcomer(j);
}

void Scheduler::Impl::saved_work(JobId j) {
  JobRecord& r = jobs[j.index()];
  if (r.phase != Phase::kRunning) return;
  r.saved = now;
  Preemption(*this).saved_work(j);
}

/// A trial tells how good it is, be it the last thing it does. What it tells again, after it fell back to a checkpoint, says
/// nothing new.
void Scheduler::Impl::reached_rung(JobId j, int32_t rung, int64_t loss_micro) {
  JobRecord& r = jobs[j.index()];
  const StudyId study = terms_of(j).study;
  if (!study.valid() || rung < r.rungs) return;
  Asha& asha = studies[study.index()];
  if (rung >= asha.rungs()) return;
  r.rungs = rung + 1;
  asha.report(rung, {.trial = j.index(), .loss_micro = loss_micro});
  if (r.phase != Phase::kRunning || !asha.is_hopeless(rung, j.index())) return;
  evict(j, Reason::kHopelessTrial, {});
  r.ends_when_left = true;
}

void Scheduler::Impl::finished(JobId j) {
  const Phase phase = jobs[j.index()].phase;
  if (phase != Phase::kRunning && phase != Phase::kLeaving) return;
  stop_serving(j);
  release(j, TaskState::kDone);
  end(j, true);
}

void Scheduler::Impl::failed(JobId j) {
  JobRecord& r = jobs[j.index()];
  if (r.phase != Phase::kRunning && r.phase != Phase::kLeaving) return;
  stop_serving(j);
  // Taken back or out of time, it does not come again, whichever way it leaves.
  if (!r.ends_when_left && r.failures++ < terms_of(j).retries) {
    release(j, TaskState::kPending);
    wait(j);
  } else {
    release(j, TaskState::kFailed);
    end(j, false);
  }
}

void Scheduler::Impl::task_left(TaskId t) {
  if (cluster.task(t).state != TaskState::kReleasing) return;
  const JobId j = cluster.task(t).job;
  JobRecord& r = jobs[j.index()];
  cluster.gone(t, TaskState::kPending);
  ++room_made;
  ++changes;
  --r.leaving;
  meter(j);
  if (r.leaving + r.running == 0) return came_off(j);
  if (r.phase == Phase::kRunning) Moves(*this).join_at_kept_room(j, t);
}

/// The last of its tasks is gone: it waits, unless it ends here or has room elsewhere.
void Scheduler::Impl::came_off(JobId j) {
  depart(j);
  if (jobs[j.index()].ends_when_left) {
    Moves(*this).drop(j);
    end(j, false);
  } else if (!Moves(*this).take_kept_room(j)) {
    wait(j);
  }
}

void Scheduler::Impl::cancel(JobId j) {
  JobRecord& r = jobs[j.index()];
  switch (r.phase) {
    case Phase::kEnded: return;
    case Phase::kWaiting:
      ++changes;  // what was reserved for it is free
      pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
      break;
    case Phase::kHeld: release(j, TaskState::kPending); break;
    case Phase::kRunning: evict(j, Reason::kCancelled, {}); [[fallthrough]];
    case Phase::kLeaving: r.ends_when_left = true; return;
    case Phase::kKnown:
    case Phase::kNotYet:
    case Phase::kOnHold: break;
  }
  end(j, false);
}

/// Gates it has still to pass open for it as for any; it stops at the last.
void Scheduler::Impl::hold(JobId j) {
  JobRecord& r = jobs[j.index()];
  if (r.phase == Phase::kEnded || r.on_hold) return;
  r.on_hold = true;
  if (r.phase == Phase::kWaiting) {
    ++changes;  // what was reserved for it is free
    pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
    wait(j);
  } else if (r.phase == Phase::kHeld) {
    give_up(j);
  }
}

void Scheduler::Impl::let_start(JobId j) {
  JobRecord& r = jobs[j.index()];
  r.on_hold = false;
  if (r.phase == Phase::kOnHold) wait(j);
}

/// What ran on the node is lost. A gang that loses a task leaves elsewhere too, unless enough of it is left.
void Scheduler::Impl::lose_node(NodeId n) {
  ++fleet_changes;
  ++room_made;  // elsewhere, for those that refused its neighbourhood
  cluster.set_usable(n, false);
  give_up_held(n);
  Moves(*this).drop_to(n);
  for (const JobId j : jobs_on(n)) {
    Amounts lost;
    for (TaskId t = first_task(j); t != end_task(j); t = next(t))
      if (cluster.task(t).on_node() && cluster.task(t).place.node == n) lose(t, lost);
    charge(j, lost, -1);
    meter(j);
    after_loss(j);
  }
}

/// Nothing here knows of it any more. What was thought of its id is thought anew: `changes` grows.
void Scheduler::Impl::remove_node(NodeId n) {
  lose_node(n);
  const NodeSpec& node = cluster.node(n);
  queues.add_capacity(
      {.gpu_milli = -int64_t{node.gpus} * kMilli, .cpu_milli = -node.cpu_milli, .memory_bytes = -node.memory.count()});
  gpu_rates[n.index()] = {};
  price_tiers.remove(n);
  gpu_models.remove(n);
  capacity.set(n, NodeBuckets::kNowhere);
  for (MarketPrices& market : prices)
    std::erase(market.nodes, n);
  Backfilling(*this).forget_node(n);
  for (uint32_t r = 0; r < cluster.request_count(); ++r)
    scores.forget(RequestId(r));
  cluster.remove_node(n);
  ++changes;
}

/// What runs there goes on; whoever was promised room there, or moves there, waits for other room.
void Scheduler::Impl::drain(NodeId n) {
  ++fleet_changes;
  cluster.set_usable(n, false);
  give_up_held(n);
  Moves(*this).drop_to(n);
}

/// A task that is lost, whose room can be used again.
void Scheduler::Impl::lose_task(TaskId t) {
  const TaskState state = cluster.task(t).state;
  if (state != TaskState::kRunning && state != TaskState::kReleasing) return;
  const JobId j = cluster.task(t).job;
  Amounts lost;
  lose(t, lost);
  ++room_made;
  charge(j, lost, -1);
  meter(j);
  after_loss(j);
}

void Scheduler::Impl::lose(TaskId t, Amounts& lost) {
  const Task& task = cluster.task(t);
  JobRecord& r = jobs[task.job.index()];
  const bool leaving = task.state == TaskState::kReleasing;
  --(leaving ? r.leaving : r.running);
  if (!leaving) add_to(lost, cluster.amounts(task.request));
  cluster.gone(t, TaskState::kPending);
}

/// Some tasks of `j` are gone: it goes on with enough of them, else the rest leaves and it waits again.
void Scheduler::Impl::after_loss(JobId j) {
  JobRecord& r = jobs[j.index()];
  if (r.phase == Phase::kRunning && !could_go_on_without(j, {})) {
    if (r.running > 0) return policy.gang_grace > Duration() ? allow_grace(j) : evict(j, Reason::kStaleGang, {});
    stop_serving(j);
    r.phase = Phase::kLeaving;
  }
  if (r.phase == Phase::kLeaving && r.leaving == 0) came_off(j);
}

/// Its gang is broken: it leaves unless it is whole again by then.
void Scheduler::Impl::allow_grace(JobId j) {
  if (std::ranges::find(growing, j) == growing.end()) growing.push_back(j);
  if (policy.gang_grace != kUnlimited) set_timer(timers, now + policy.gang_grace, j, TimerKind::kBroken);
}

/// The node will be taken away: its jobs save their work and leave, nothing new comes.
void Scheduler::Impl::clear_node(NodeId n) {
  ++fleet_changes;
  cluster.set_usable(n, false);
  give_up_held(n);
  Moves(*this).drop_to(n);
  for (const JobId j : jobs_on(n))
    if (jobs[j.index()].phase == Phase::kRunning) evict(j, Reason::kSpotNotice, {});
}

/// Jobs that were promised room on the node wait again.
void Scheduler::Impl::give_up_held(NodeId n) {
  for (const JobId j : jobs_on(n))
    if (jobs[j.index()].phase == Phase::kHeld) give_up(j);
}

void Scheduler::Impl::change_price(NodeId n, Rate gpu_rate) {
  gpu_rates[n.index()] = gpu_rate;
  if (cluster.node(n).gpus > 0) price_tiers.set(n, gpu_rate);
  if (!budgets.any()) return;
  for (const JobId j : jobs_on(n))
    meter(j);
}

/// Jobs with a task on the node, by id.
std::vector<JobId> Scheduler::Impl::jobs_on(NodeId n) const {
  std::vector<JobId> found;
  cluster.for_each_on(n, [&](TaskId t) {
    if (cluster.task(t).job.valid()) found.push_back(cluster.task(t).job);
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Scheduler::Impl::fire_timers() {
  while (!timers.empty() && timers.top().at <= now) {
    const Timer timer = timers.pop();
    JobRecord& r = jobs[timer.job.index()];
    if (timer.starts != r.starts) continue;
    if (timer.kind == TimerKind::kBegin && r.phase == Phase::kNotYet && r.blockers == 0 &&
        terms_of(timer.job).not_before <= now && !defer(timer.job))
      wait(timer.job);
    if (timer.kind == TimerKind::kBroken && r.phase == Phase::kRunning && !could_go_on_without(timer.job, {}))
      evict(timer.job, Reason::kStaleGang, {});
    if (timer.kind == TimerKind::kLimit && r.phase == Phase::kRunning) {
      evict(timer.job, Reason::kTimeLimit, {});
      r.ends_when_left = true;
    }
  }
}

}  // namespace stint::sched
