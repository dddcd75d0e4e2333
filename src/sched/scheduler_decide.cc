// What follows: which jobs start, in which order, and where.
#include <algorithm>

#include "sched/scheduler_backfill.h"
#include "sched/scheduler_consolidate.h"
#include "sched/scheduler_moves.h"
#include "sched/scheduler_preempt.h"

namespace stint::sched {
namespace {

Amounts times(const Amounts& amounts, int64_t count) {
  Amounts product;
  add_to(product, amounts, count);
  return product;
}

constexpr size_t kMostTakenBack = 8;  // starts of one job in one step, so that steps end; a further one stands

}  // namespace

void Scheduler::Impl::decide() {
  searches = {};
  start_held(Reason::kHeld);
  open.catch_up(cluster);
  if (policy.shares == ShareRule::kFair) divide_shares();
  start_with_neighbours();
  if (policy.backfill == Backfill::kNone) promise_leaving_room();
  while (free_room())
    start_with_neighbours();
  Preemption(*this).end_step();
  if (draft.any_taken_back()) start_held(Reason::kFree);
  grow();
}

/// Moves or stops others for one that waits. @return whether any leave. By fair shares who goes first decides whether a claim or a
/// move comes first: what a move gave to another would be claimed back.
bool Scheduler::Impl::free_room() {
  if (policy.shares == ShareRule::kDeserved)
    return Consolidation(*this).move_for_one() || Preemption(*this).stop_for_one(Ground::kAny);
  return Preemption(*this).stop_for_one(Ground::kReclaim) || Preemption(*this).stop_for_one(Ground::kPriority);
}

/// Room that is being left goes to the first in line that fit there, where no reservations are kept: else they would have others
/// stopped for what is free in a moment.
void Scheduler::Impl::promise_leaving_room() {
  const auto may_try = [&](ShapeId s) { return !shapes[s].plain && !fits(s); };
  const auto waits = [&](ShapeId s) { return pending.head(s) != nullptr && may_try(s); };
  if (std::ranges::none_of(pending.shapes(), waits)) return;
  if (std::ranges::none_of(present, [&](JobId j) { return jobs[j.index()].leaving > 0; })) return;
  try_in_order(may_try, [&](ShapeId s) {
    const JobId j = pending.head(s)->job;
    if (close_if_limited(j)) return Tried::kClosed;
    const bool fits_then = nominate_in_detail(j);
    open.catch_up(cluster);
    if (!fits_then) return blocks_at_head(policy.order) ? Tried::kEnough : Tried::kInVain;
    begin_to_hold(j);
    finish_holding(j);
    return Tried::kStarted;
  });
}

/// Starts jobs, and once more where some have started beside whom others want to be.
void Scheduler::Impl::start_with_neighbours() {
  for (bool again = true; again;) {
    const auto before = std::pair(room_made, draft.size());
    start_all();
    again = room_made != before.first && draft.size() != before.second;
  }
}

/// Starts jobs in order until the next one does not fit (or none of them does, where others may pass).
void Scheduler::Impl::start_all() {
  if (policy.backfill != Backfill::kNone) return Backfilling(*this).start_jobs();
  const bool blocks = blocks_at_head(policy.order);
  try_in_order([&](ShapeId s) { return blocks || fits(s); },
               [&](ShapeId s) {
                 const JobId j = pending.head(s)->job;
                 if (close_if_limited(j)) return Tried::kClosed;
                 if (start(j, Reason::kFree)) return Tried::kStarted;
                 return blocks ? Tried::kEnough : Tried::kInVain;
               });
}

/// For a shape that is not plain: has not failed since room was last made.
bool Scheduler::Impl::fits(ShapeId s) const {
  if (shapes[s].plain) return open.fits(shapes[s]);
  return s.index() >= failed_at.size() || failed_at[s.index()] != room_made;
}

/// How many of its tasks the limits of its queues leave room for; 0 when it cannot start within them.
int32_t Scheduler::Impl::tasks_within_limits(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  if (budgets.spent(r.queue).valid()) return 0;
  const Shape& shape = shapes[r.shape];
  if (!queues.limiting(r.queue, shape.total, shape.preemptible).valid()) return shape.tasks;
  if (shape.gang.valid()) return queues.limiting(r.queue, least_amounts(j), shape.preemptible).valid() ? 0 : shape.min_tasks;
  for (int32_t tasks = shape.tasks - 1; tasks >= shape.min_tasks; --tasks)
    if (!queues.limiting(r.queue, times(cluster.amounts(shape.request), tasks), shape.preemptible).valid()) return tasks;
  return 0;
}

/// What it needs to start: of its tasks those that must run together.
Amounts Scheduler::Impl::least_amounts(JobId j) const {
  const Shape& shape = shapes[jobs[j.index()].shape];
  return shape.gang.valid() ? amounts_of(tasks_to_place(j)) : times(cluster.amounts(shape.request), shape.min_tasks);
}

/// Jobs of this queue and shape wait until their queue, or one above it, gives something back.
bool Scheduler::Impl::close_if_limited(JobId j) {
  if (put_off(j)) return true;
  if (tasks_within_limits(j) > 0) return false;
  const JobRecord& r = jobs[j.index()];
  const Shape& shape = shapes[r.shape];
  const QueueId spent = budgets.spent(r.queue);
  waits_for_budget = waits_for_budget || spent.valid();
  const QueueId limited = spent.valid() ? spent : queues.limiting(r.queue, least_amounts(j), shape.preemptible);
  pending.close(queues, r.queue, r.shape, limited);
  return true;
}

/// Starts a waiting job on what is open. @return false when it does not fit.
bool Scheduler::Impl::start(JobId j, Reason reason) {
  if (terms_of(j).deferrable && withhold_dearer(j)) {
    const bool started = start_on_open(j, reason);
    open.release(cluster);
    if (started) return true;
  }
  return start_on_open(j, reason);
}

bool Scheduler::Impl::start_on_open(JobId j, Reason reason) {
  JobRecord& r = jobs[j.index()];
  if (!fits(r.shape)) return false;
  if (budgets.spent(r.queue).valid()) return false;
  draft.decide(DecisionKind::kStart, reason, j);
  const std::optional<Amounts> placed =
      shapes[r.shape].plain ? std::optional(place_tasks(j, tasks_within_limits(j))) : place_in_detail(j);
  if (!placed) {
    draft.drop_last();
    if (open.withholds()) return false;  // what is kept for others now may be anybody's before room is made
    failed_at.resize(shapes.size());
    failed_at[r.shape.index()] = room_made;
    return false;
  }
  pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
  charge(j, *placed, 1);
  arrive(j);
  began(j);
  return true;
}

/// Bookkeeping of a job whose tasks have just begun to run.
void Scheduler::Impl::began(JobId j) {
  JobRecord& r = jobs[j.index()];
  r.phase = Phase::kRunning;
  r.ends_when_left = false;
  r.admitted = r.freed_for = false;
  r.started = r.saved = now;
  meter(j);
  ++r.starts;
  ++changes;
  if (is_neighbour(j)) ++room_made;  // for those that want to be beside it
  if (r.running < shapes[r.shape].tasks) growing.push_back(j);
  if (StopRules(*this).ranks_running()) Preemption(*this).rank_running(j);
  Backfilling(*this).began(j);
  if (r.time_limit != kUnlimited) set_timer(timers, now + r.time_limit, j, TimerKind::kLimit);
}

/// Do others mind where it runs?
bool Scheduler::Impl::is_neighbour(JobId j) const {
  return !shapes[jobs[j.index()].shape].plain &&
         std::ranges::any_of(tasks_of(j), [&](const Task& task) { return cluster.minds_neighbours(task.request); });
}

/// One more in this step? If not, the others come in the steps behind.
bool Scheduler::Impl::may_search(SearchFor what) {
  uint32_t& made = searches[static_cast<size_t>(what)];
  if (made == kMostSearches) return false;
  ++made;
  return true;
}

/// Starts those whose promised room is free now.
void Scheduler::Impl::start_held(Reason reason) {
  give_up_unpaid();
  give_up_lonely();
  std::erase_if(held, [&](JobId j) {
    if (!can_start_held(j)) return false;
    start_on_held_room(j, reason);
    return true;
  });
}

/// It has no room promised any longer, and waits again.
void Scheduler::Impl::give_up(JobId j) {
  release(j, TaskState::kPending);
  wait(j);
}

/// Room that others were leaving anyway is not for those whose queue has spent its budget before it was free.
void Scheduler::Impl::give_up_unpaid() {
  if (!budgets.any()) return;
  std::vector<JobId> unpaid;
  for (const JobId j : held)
    if (const JobRecord& r = jobs[j.index()]; !r.admitted && budgets.spent(r.queue).valid()) unpaid.push_back(j);
  for (const JobId j : unpaid)
    give_up(j);
}

/// Those whose wanted neighbours have gone from beside their promised room wait again, for room elsewhere.
void Scheduler::Impl::give_up_lonely() {
  std::vector<JobId> lonely;
  for (const JobId j : held) {
    const auto wants = [&](const Task& task) {
      return task.state == TaskState::kNominated && !cluster.request(task.request).affinity.empty();
    };
    const std::span<const Task> tasks = tasks_of(j);
    if (std::none_of(tasks.begin(), tasks.end(), wants)) continue;
    const std::vector<Task> promised(tasks.begin(), tasks.end());
    const Attempt trial(cluster);
    for (size_t t = 0; t < promised.size(); ++t)
      if (promised[t].state == TaskState::kNominated)
        cluster.gone(TaskId(first_task(j).index() + static_cast<uint32_t>(t)), TaskState::kPending);
    for (size_t t = 0; t < promised.size(); ++t) {
      if (promised[t].state != TaskState::kNominated) continue;
      if (!cluster.fit(promised[t].request, promised[t].place.node, Room::kComing)) {
        lonely.push_back(j);
        break;
      }
      cluster.nominate(TaskId(first_task(j).index() + static_cast<uint32_t>(t)), promised[t].place);
    }
  }
  for (const JobId j : lonely)
    give_up(j);
}

/// Each task for itself, and all of them together: two of them may be waiting for what one victim has left.
bool Scheduler::Impl::can_start_held(JobId j) {
  for (TaskId t = first_task(j); t != end_task(j); t = next(t))
    if (cluster.task(t).state == TaskState::kNominated && !cluster.can_run_nominated(t)) return false;
  if (jobs[j.index()].held == 1) return true;
  const Cluster::Trial trial = cluster.open_trial();
  bool all = true;
  for (TaskId t = first_task(j); all && t != end_task(j); t = next(t)) {
    if (cluster.task(t).state != TaskState::kNominated) continue;
    all = cluster.can_run_nominated(t);
    if (all) cluster.run(t, cluster.task(t).place, now);
  }
  cluster.undo(trial);
  return all;
}

void Scheduler::Impl::start_on_held_room(JobId j, Reason reason) {
  draft.decide(DecisionKind::kStart, reason, j);
  JobRecord& r = jobs[j.index()];
  for (TaskId t = first_task(j); t != end_task(j); t = next(t)) {
    if (cluster.task(t).state != TaskState::kNominated) continue;
    cluster.run(t, cluster.task(t).place, now);
    draft.add_place(cluster.task(t).place);
  }
  r.running = std::exchange(r.held, 0);
  began(j);
  r.freed_for = reason == Reason::kHeld;
}

void Scheduler::Impl::begin_to_hold(JobId j) {
  JobRecord& r = jobs[j.index()];
  pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
  r.phase = Phase::kHeld;
  arrive(j);
}

/// Its tasks are nominated: counts them.
void Scheduler::Impl::finish_holding(JobId j) {
  JobRecord& r = jobs[j.index()];
  Amounts promised;
  for (const Task& task : tasks_of(j)) {
    if (task.state != TaskState::kNominated) continue;
    ++r.held;
    add_to(promised, cluster.amounts(task.request));
  }
  held.push_back(j);
  charge(j, promised, 1);
  open.catch_up(cluster);
}

/// Does this step start `v`, and may that still be dropped? Not for one that starts on room others have left for it, nor where another
/// may have started to be beside it.
bool Scheduler::Impl::may_drop_start(JobId v) const {
  if (jobs[v.index()].started != now || draft.times_taken_back(v) >= kMostTakenBack) return false;
  const Decision* const start = draft.start_of(v);
  if (start == nullptr || start->reason == Reason::kHeld) return false;
  const auto wants_neighbours = [&](const Decision& d) {
    return d.job != v && d.kind == DecisionKind::kStart &&
           std::ranges::any_of(tasks_of(d.job), [&](const Task& t) { return !cluster.request(t.request).affinity.empty(); });
  };
  return !is_neighbour(v) || std::ranges::none_of(draft.decisions(), wants_neighbours);
}

/// `v` does not start after all, and waits on as before. @return false when its start stands, or it runs for longer.
bool Scheduler::Impl::take_back_start(JobId v) {
  if (!may_drop_start(v)) return false;
  draft.take_back_start(v);
  stop_serving(v);
  release(v, TaskState::kPending);
  std::erase(growing, v);
  wait(v);
  return true;
}

void Scheduler::Impl::evict(JobId j, Reason reason, JobId for_job) {
  JobRecord& r = jobs[j.index()];
  draft.decide(DecisionKind::kEvict, reason, j).for_job = for_job;
  if (for_job.valid()) jobs[for_job.index()].admitted = true;
  if (reason == Reason::kPriority || reason == Reason::kReclaim) StopRules(*this).note_cut_short(j);
  Moves(*this).drop(j);  // of some of its tasks: now all of it leaves
  Amounts given_back;
  for (TaskId t = first_task(j); t != end_task(j); t = next(t)) {
    if (cluster.task(t).state != TaskState::kRunning) continue;
    add_to(given_back, cluster.amounts(cluster.task(t).request));
    cluster.leave(t);
    draft.add_place(cluster.task(t).place);
  }
  r.leaving += std::exchange(r.running, 0);
  stop_serving(j);
  r.phase = Phase::kLeaving;
  charge(j, given_back, -1);
}

/// Elastic jobs take what no job waits for.
void Scheduler::Impl::grow() {
  std::erase_if(growing, [&](JobId j) {
    const JobRecord& r = jobs[j.index()];
    return r.phase != Phase::kRunning || r.running == shapes[r.shape].tasks;
  });
  for (const JobId j : growing)
    while (grow_one(j)) {
    }
}

bool Scheduler::Impl::grow_one(JobId j) {
  const JobRecord& r = jobs[j.index()];
  if (any_hours && opens_at(r.queue) > now) return false;
  if (r.running + r.leaving == shapes[r.shape].tasks || budgets.spent(r.queue).valid()) return false;  // none waits
  for (const Reservation& reserved : backfill.reservations)
    for (const Claim& claim : reserved.claims)
      if (r.latest_end > reserved.at) {
        open.withhold(cluster, claim.node, kMaxGpusPerNode);
        if (!shapes[r.shape].plain) open.close(cluster, claim.node);
      }
  const bool grown = grow_on_open(j);
  open.release(cluster);
  return grown;
}

bool Scheduler::Impl::grow_on_open(JobId j) {
  const JobRecord& r = jobs[j.index()];
  const Shape& shape = shapes[r.shape];
  if (!shape.plain) return grow_in_detail(j);
  if (!open.buckets().any_from(shape.parts.back().gpus)) return false;
  const Amounts one = cluster.amounts(shape.request);
  if (queues.limiting(r.queue, one, shape.preemptible).valid()) return false;
  draft.decide(DecisionKind::kGrow, Reason::kFree, j);
  charge(j, place_tasks(j, 1), 1);
  meter(j);
  return true;
}

/// What is missing of its minimum, else one task more.
bool Scheduler::Impl::grow_in_detail(JobId j) {
  const ShapeId s = jobs[j.index()].shape;
  grow_failed_at.resize(shapes.size());
  if (grow_failed_at[s.index()] == room_made) return false;
  draft.decide(DecisionKind::kGrow, Reason::kFree, j);
  const std::optional<Amounts> grown = place_in_detail(j);
  if (!grown) {
    draft.drop_last();
    if (!open.withholds()) grow_failed_at[s.index()] = room_made;
    return false;
  }
  charge(j, *grown, 1);
  meter(j);
  ++changes;
  return true;
}

}  // namespace stint::sched
