// Making room in detail: for jobs that ask for more than whole GPUs, and where shares or limits of queues decide. A search on the
// cluster itself (search/victims.h), taken back, then carried out: jobs are stopped, elastic ones shrink, others move, and the room is
// promised to the one that waits.
#include <algorithm>
#include <map>

#include "sched/scheduler_moves.h"
#include "sched/scheduler_preempt.h"
#include "sched/search/claim.h"
#include "sched/search/victims.h"

namespace stint::sched {
namespace {

// A search is given up after so many parts of jobs, and so many trials: then those that should give way first are not the ones.
constexpr size_t kMostCandidates = 256;
constexpr size_t kMostCandidatesPerTask = 64;
constexpr size_t kMostTrials = 64;

/// Tasks of one job, in the order in which a plan names them.
struct TasksOfJob {
  JobId job;
  std::vector<TaskId> tasks;
  std::vector<Place> places;  ///< new ones, of tasks that move
};

std::vector<TasksOfJob> by_job(const Cluster& cluster, std::span<const TaskId> tasks, std::span<const Place> places) {
  std::vector<TasksOfJob> jobs;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const JobId j = cluster.task(tasks[i]).job;
    auto known = std::ranges::find(jobs, j, &TasksOfJob::job);
    if (known == jobs.end()) known = jobs.insert(known, {.job = j, .tasks = {}, .places = {}});
    known->tasks.push_back(tasks[i]);
    if (!places.empty()) known->places.push_back(places[i]);
  }
  return jobs;
}

}  // namespace

/// What runs of it is told to leave.
void Scheduler::Impl::leave(JobId v) {
  for (TaskId t = first_task(v); t != end_task(v); t = next(t))
    if (cluster.task(t).state == TaskState::kRunning) cluster.leave(t);
}

/// What would be placed next: the tasks that must run together, or one more of an elastic job.
std::vector<TaskId> Scheduler::Impl::tasks_to_place(JobId j) const {
  const JobTerms& spec = terms_of(j);
  return next_tasks(cluster, first_task(j), spec.tasks, shapes.gang(spec.gang), spec.min_tasks);
}

Amounts Scheduler::Impl::amounts_of(std::span<const TaskId> tasks) const {
  Amounts sum;
  for (const TaskId t : tasks)
    add_to(sum, cluster.amounts(cluster.task(t).request));
  return sum;
}

/// Places tasks of a job, all or none: the cheapest and of one model, where that counts.
bool Scheduler::Impl::place_together(JobId j, std::span<const TaskId> tasks, Room room) {
  const Gang* gang = shapes.gang(terms_of(j).gang);
  const PickPlace pick = goes_by_price(cluster.request(cluster.task(tasks.front()).request)) ? cheapest_picker() : picker();
  const auto place = [&](const Scope& scope) {
    return place_gang(cluster, tasks, gang, tasks_of(j), room, pick, now, unclaimed(scope));
  };
  const auto on_model = [&](int32_t model) { return place({.everywhere = false, .nodes = gpu_models.nodes(model)}); };
  return std::ranges::any_of(models_for(j), on_model) || place({});
}

/// The job as a search knows it.
JobRun Scheduler::Impl::run_of(JobId j) {
  const JobRecord& r = jobs[j.index()];
  JobRun run;
  static_cast<JobTerms&>(run.spec) = terms_of(j);
  run.spec.queue = r.queue;
  run.gang = shapes.gang(terms_of(j).gang);
  run.first = first_task(j);
  run.started = r.started;
  run.saved = r.phase == Phase::kRunning ? StopRules(*this).work_kept_at(j) : r.started;
  return run;
}

/// Cluster, queues and these jobs, for one search.
State Scheduler::Impl::state_of_search(JobId j, std::span<const Victim> others) {
  StateRules rules;
  rules.victims = policy.victims;
  rules.queues_first = policy.shares == ShareRule::kFair;
  rules.place = [this, j](JobId whose, std::span<const TaskId> tasks, Room room) {
    if (whose == j) return place_together(whose, tasks, room);
    const Gang* gang = shapes.gang(terms_of(whose).gang);
    return place_gang(cluster, tasks, gang, tasks_of(whose), room, picker(), now, unclaimed({}));
  };
  State state(std::move(rules), cluster);
  state.set_now(now);
  state.queues() = queues.fair_shares();
  if (policy.shares == ShareRule::kDeserved)
    for (uint32_t q = 0; q < queues.size(); ++q)
      state.queues().set_held(QueueId(q), queues.held(QueueId(q)), queues.held_firm(QueueId(q)));
  state.know(j, run_of(j));
  for (const JobId other : stopping.claimed_in_vain)
    if (!state.knows(other)) state.know(other, run_of(other));
  for (const Victim& v : others)
    if (!state.knows(v.job)) state.know(v.job, run_of(v.job));
  return state;
}

/// Would there be room for `j`, and would limits allow it, if all of them left? Most searches end with this question.
bool Scheduler::Impl::could_fit_without(JobId j, std::span<const Victim> others) {
  const std::vector<TaskId> tasks = tasks_to_place(j);
  if (others.empty() || tasks.empty()) return false;
  const JobRecord& r = jobs[j.index()];
  const Amounts wanted = amounts_of(tasks);
  const bool preemptible = shapes[r.shape].preemptible;
  if (queues.limiting(r.queue, wanted, preemptible).valid()) {
    std::vector<Amounts> gone(queues.size());
    for (const Victim& v : others)
      for (QueueId at = jobs[v.job.index()].queue; at.valid(); at = queues.spec(at).parent)
        add_to(gone[at.index()], shapes[jobs[v.job.index()].shape].total);
    if (queues.limiting_without(r.queue, wanted, preemptible, gone).valid()) return false;
  }
  const auto fits_without = [&](auto&& leaves) {
    const Attempt gone(cluster);
    for (const Victim& v : others)
      if (leaves(v.job)) leave(v.job);
    return place_together(j, tasks, Room::kComing);
  };
  const auto has_labels = [&](JobId v) {
    return std::ranges::any_of(tasks_of(v), [&](const Task& t) { return !cluster.request(t.request).labels.empty(); });
  };
  const auto wants_neighbours = [&](TaskId t) { return !cluster.request(cluster.task(t).request).affinity.empty(); };
  // Who wants neighbours may want some of those.
  const bool fits_then = fits_without([](JobId) { return true; }) ||
                         (std::ranges::any_of(tasks, wants_neighbours) && fits_without([&](JobId v) { return !has_labels(v); }));
  open.catch_up(cluster);
  return fits_then;
}

/// A plan that gives `j` room by stopping or moving `others`. Nothing is done yet.
std::optional<RoomPlan> Scheduler::Impl::plan_room(JobId j, std::span<const Victim> others, const RoomRules& rules) {
  if (!could_fit_without(j, others)) return std::nullopt;
  std::optional<RoomPlan> plan;
  {
    const Attempt on_paper(cluster);
    State state = state_of_search(j, others);
    std::vector<QueueId> from;
    for (uint32_t q = 0; q < queues.size(); ++q)
      from.emplace_back(q);
    VictimLine victims(state, from, [&](JobId v) { return v != j; });
    RoomRules bounded = rules;
    bounded.most_chunks = kMostCandidates + kMostCandidatesPerTask * static_cast<size_t>(terms_of(j).tasks);
    bounded.most_attempts = kMostTrials;
    plan = make_room(state, j, victims, bounded);
  }
  open.catch_up(cluster);
  return plan;
}

/// Those that `j` may stop, each with the reason; the ones that should give way first where there are too many.
std::vector<Victim> Scheduler::Impl::those_to_stop(JobId j) {
  const StopRules rules(*this);
  const Rank bound = rules.victim_bound(j);
  const bool by_rank_only = !rules.other_grounds();
  const JobRecord& r = jobs[j.index()];
  const std::vector<TaskId> next = tasks_to_place(j);
  const bool limited = queues.limiting(r.queue, amounts_of(next), shapes[r.shape].preemptible).valid();
  const size_t most = kMostCandidates + kMostCandidatesPerTask * next.size();
  std::vector<Victim> found;
  if (queues.any_deserved()) sketch.taken.assign(queues.size(), Amounts());
  const auto collect = [&](const Waiting& candidate) {
    if (by_rank_only && candidate.rank <= bound) return false;
    if (std::ranges::find(found, candidate.job, &Victim::job) != found.end()) return true;
    const std::optional<Reason> ground = rules.ground_to_stop(j, candidate.job, bound);
    if (ground && (limited || Preemption(*this).could_make_room(candidate.job, j)))
      found.push_back({.job = candidate.job, .reason = *ground});
    return found.size() < most;
  };
  stopping.running.for_each_from_last(collect, [](const Waiting&) {});
  if (found.empty() || !rules.reclaims() || policy.shares == ShareRule::kFair) return found;
  // What gives way on its own side, below a queue that both sides share, may be what brings that side within its due.
  const QueueId own = queues.spec(r.queue).parent;
  if (!own.valid()) return found;
  for (const Victim& v : found)
    for (QueueId at = jobs[v.job.index()].queue; at.valid(); at = queues.spec(at).parent)
      if (queues.is_above(at, r.queue)) add_to(sketch.taken[at.index()], shapes[jobs[v.job.index()].shape].total);
  stopping.running.for_each_from_last(collect, [](const Waiting&) {});
  return found;
}

/// Divides the fleet into fair shares: by what the queues' jobs hold and wait for.
void Scheduler::Impl::divide_shares() {
  std::vector<Amounts> waiting(queues.size());
  const auto add = [&](QueueId q, const Amounts& amounts, int64_t times) {
    for (; q.valid(); q = queues.spec(q).parent)
      add_to(waiting[q.index()], amounts, times);
  };
  pending.for_each_group([&](QueueId q, ShapeId s, int64_t count) { add(q, shapes[s].total, count); });
  for (const JobId j : growing)
    if (jobs[j.index()].phase == Phase::kRunning) {
      const JobRecord& r = jobs[j.index()];
      for (const Task& task : tasks_of(j))
        if (task.state == TaskState::kPending) add(r.queue, cluster.amounts(task.request), 1);
    }
  queues.divide_shares(waiting);
  pending.renumber(queues);
}

/// Does its queue stay within its fair share with the job, at its own level?
bool Scheduler::Impl::may_claim_fairly(JobId j) const {
  return may_claim(queues.fair_shares(), jobs[j.index()].queue, least_amounts(j), shapes[jobs[j.index()].shape].preemptible);
}

/// Takes back what others hold above their due: above what they deserve, or by fair shares.
std::optional<RoomPlan> Scheduler::Impl::plan_reclaim(JobId j, std::span<const Victim> others) {
  RoomRules rules;
  if (policy.shares == ShareRule::kDeserved) {
    rules.allowed = [&](State&, JobId, const Amounts& need, std::span<const VictimChunk> chunks) {
      return may_take_by_due(j, need, others, chunks);
    };
    return plan_room(j, others, rules);
  }
  std::vector<JobId> ahead;
  for (const JobId other : stopping.claimed_in_vain)
    if (jobs[other.index()].queue == jobs[j.index()].queue) ahead.push_back(other);
  rules.allowed = may_take;
  rules.in_turn = true;
  rules.ahead = ahead;
  return plan_room(j, others, rules);
}

/// Room for a job by stopping others. What is reclaimed and what gives way by priority are tried by themselves first.
bool Scheduler::Impl::make_room_in_detail(JobId j, Ground ground) {
  const std::vector<Victim> all = those_to_stop(j);
  const auto of = [&](Reason reason) {
    std::vector<Victim> those;
    std::ranges::copy_if(all, std::back_inserter(those), [&](const Victim& v) { return v.reason == reason; });
    return those;
  };
  const std::vector<Victim> reclaimed = of(Reason::kReclaim);
  const std::vector<Victim> by_priority = of(Reason::kPriority);
  const bool both = !reclaimed.empty() && !by_priority.empty();
  if (both && !could_fit_without(j, all)) return false;
  std::optional<RoomPlan> plan;
  if (ground != Ground::kPriority) plan = plan_reclaim(j, reclaimed);
  if (!plan && ground != Ground::kReclaim) plan = plan_room(j, by_priority, {});
  if (!plan && ground == Ground::kAny && both) plan = plan_reclaim(j, all);
  if (plan) carry_out(j, *plan, all);
  return plan.has_value();
}

/// Is what is reclaimed, one after the other, above the due of those it is taken from?
bool Scheduler::Impl::may_take_by_due(JobId j, const Amounts& need, std::span<const Victim> grounds,
                                      std::span<const VictimChunk> chunks) const {
  const auto add = [&](std::vector<Amounts>& sums, const VictimChunk& chunk) {
    for (QueueId at = jobs[chunk.job.index()].queue; at.valid(); at = queues.spec(at).parent)
      add_to(sums[at.index()], amounts_of(chunk.tasks));
  };
  std::vector<Amounts> taken(queues.size());
  std::vector<Amounts> gone(queues.size());
  for (const VictimChunk& chunk : chunks)
    add(gone, chunk);
  for (const VictimChunk& chunk : chunks) {
    const QueueId from = jobs[chunk.job.index()].queue;
    const auto ground = std::ranges::find(grounds, chunk.job, &Victim::job);
    const bool reclaimed = ground != grounds.end() && ground->reason == Reason::kReclaim;
    if (reclaimed && !queues.may_reclaim(jobs[j.index()].queue, need, from, taken, gone)) return false;
    add(taken, chunk);
  }
  return true;
}

/// Does it: those who give way leave, those who move leave with their new room kept, and `j` has its room promised.
void Scheduler::Impl::carry_out(JobId j, const RoomPlan& plan, std::span<const Victim> grounds) {
  const auto reason_for = [&](JobId v) {
    const auto ground = std::ranges::find(grounds, v, &Victim::job);
    return ground == grounds.end() ? Reason::kConsolidation : ground->reason;
  };
  begin_to_hold(j);
  std::vector<TasksOfJob> movers = by_job(cluster, plan.moved, plan.new_places);
  for (const TasksOfJob& v : by_job(cluster, plan.victims, {}))
    stop_tasks(v.job, v.tasks, reason_for(v.job), j);
  std::erase_if(movers, [&](TasksOfJob& v) {
    if (jobs[v.job.index()].phase != Phase::kRunning) return true;  // the rest of it has been stopped
    if (take_back_start(v.job)) return true;
    if (could_go_on_without(v.job, v.tasks)) {
      stop_tasks(v.job, v.tasks, Reason::kConsolidation, j);
      return false;
    }
    for (TaskId t = first_task(v.job); t != end_task(v.job); t = next(t)) {
      if (cluster.task(t).state != TaskState::kRunning || std::ranges::find(v.tasks, t) != v.tasks.end()) continue;
      v.tasks.push_back(t);  // it comes back to where it was
      v.places.push_back(cluster.task(t).place);
    }
    evict(v.job, Reason::kConsolidation, j);
    return false;
  });
  for (size_t i = 0; i < plan.placed.size(); ++i)
    cluster.nominate(plan.placed[i], plan.job_places[i]);
  finish_holding(j);
  for (const TasksOfJob& v : movers)
    Moves(*this).keep_room(v.job, v.tasks, v.places);
  open.catch_up(cluster);
}

/// These tasks of a running job leave: some of an elastic job, or all of it.
void Scheduler::Impl::stop_tasks(JobId v, std::span<const TaskId> tasks, Reason reason, JobId for_job) {
  JobRecord& r = jobs[v.index()];
  if (take_back_start(v)) return;
  if (static_cast<size_t>(r.running) == tasks.size()) return evict(v, reason, for_job);
  draft.decide(DecisionKind::kEvict, reason, v).for_job = for_job;
  if (for_job.valid()) jobs[for_job.index()].admitted = true;
  for (const TaskId t : tasks) {
    cluster.leave(t);
    draft.add_place(cluster.task(t).place);
  }
  r.running -= static_cast<int32_t>(tasks.size());
  r.leaving += static_cast<int32_t>(tasks.size());
  if (std::ranges::find(growing, v) == growing.end()) growing.push_back(v);
  charge(v, amounts_of(tasks), -1);
}

/// Would every leaf, or the job, keep its minimum?
bool Scheduler::Impl::could_go_on_without(JobId v, std::span<const TaskId> tasks) const {
  const JobTerms& spec = terms_of(v);
  const Gang* gang = shapes.gang(spec.gang);
  const auto left = [&](int32_t leaf) {
    int32_t count = 0;
    for (TaskId t = first_task(v); t != end_task(v); t = next(t)) {
      const Task& task = cluster.task(t);
      const bool counts = task.state == TaskState::kRunning && (leaf < 0 || task.group == leaf);
      if (counts && std::ranges::find(tasks, t) == tasks.end()) ++count;
    }
    return count;
  };
  if (left(-1) < spec.min_tasks) return false;
  if (gang == nullptr) return true;
  for (size_t leaf = 0; leaf < gang->groups.size(); ++leaf)
    if (left(static_cast<int32_t>(leaf)) < gang->groups[leaf].min_tasks) return false;
  return true;
}

}  // namespace stint::sched
