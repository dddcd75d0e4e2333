// Making room in detail: for jobs that ask for more than whole GPUs, and where shares or limits of queues decide. A search on the
// cluster itself (search/victims.h), taken back, then carried out: jobs are stopped, elastic ones shrink, others move, and the room is
// promised to the one that waits.
#include "sched/scheduler_room.h"

#include <algorithm>
#include <map>

#include "sched/search/claim.h"

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

void leave(Cluster& cluster, const JobTable& jobs, JobId v) {
  for (TaskId t = jobs.first_task(v); t != jobs.end_task(v); t = next(t))
    if (cluster.task(t).state == TaskState::kRunning) cluster.leave(t);
}

/// The job as a search knows it.
JobRun RoomMaker::run_of(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  JobRun run;
  static_cast<JobTerms&>(run.spec) = s_.jobs.terms_of(j);
  run.spec.queue = r.queue;
  run.gang = s_.jobs.gang_of(j);
  run.first = s_.jobs.first_task(j);
  run.started = r.started;
  run.saved = r.phase == Phase::kRunning ? s_.rules.work_kept_at(j) : r.started;
  return run;
}

/// Cluster, queues and these jobs, for one search.
State RoomMaker::state_of_search(JobId j, std::span<const Victim> others) {
  StateRules rules;
  rules.victims = s_.policy.victims;
  rules.queues_first = s_.policy.shares == ShareRule::kFair;
  rules.place = [this, j](JobId whose, std::span<const TaskId> tasks, Room room) {
    if (whose == j) return s_.placer.place_together(whose, tasks, room);
    return s_.placer.place_by_rules(whose, tasks, room);
  };
  State state(std::move(rules), s_.cluster);
  state.set_now(s_.clock.now);
  state.queues() = s_.accounts.queues().fair_shares();
  if (s_.policy.shares == ShareRule::kDeserved)
    for (uint32_t q = 0; q < s_.accounts.queues().size(); ++q)
      state.queues().set_held(QueueId(q), s_.accounts.queues().held(QueueId(q)), s_.accounts.queues().held_firm(QueueId(q)));
  state.know(j, run_of(j));
  for (const JobId other : s_.stopping.claimed_in_vain)
    if (!state.knows(other)) state.know(other, run_of(other));
  for (const Victim& v : others)
    if (!state.knows(v.job)) state.know(v.job, run_of(v.job));
  return state;
}

/// Would there be room for `j`, and would limits allow it, if all of them left? Most searches end with this question.
bool RoomMaker::could_fit_without(JobId j, std::span<const Victim> others) {
  const std::vector<TaskId> tasks = s_.jobs.tasks_to_place(j);
  if (others.empty() || tasks.empty()) return false;
  const JobRecord& r = s_.jobs[j];
  const Amounts wanted = s_.jobs.amounts_of(tasks);
  const bool preemptible = s_.jobs.shape(r.shape).preemptible;
  if (s_.accounts.queues().limiting(r.queue, wanted, preemptible).valid()) {
    std::vector<Amounts> gone(s_.accounts.queues().size());
    for (const Victim& v : others)
      for (QueueId at = s_.jobs[v.job].queue; at.valid(); at = s_.accounts.queues().spec(at).parent)
        add_to(gone[at.index()], s_.jobs.shape_of(v.job).total);
    if (s_.accounts.queues().limiting_without(r.queue, wanted, preemptible, gone).valid()) return false;
  }
  const auto fits_without = [&](auto&& leaves) {
    const Attempt gone(s_.cluster);
    for (const Victim& v : others)
      if (leaves(v.job)) leave(s_.cluster, s_.jobs, v.job);
    return s_.placer.place_together(j, tasks, Room::kComing);
  };
  const auto has_labels = [&](JobId v) {
    return std::ranges::any_of(s_.jobs.tasks_of(v), [&](const Task& t) { return !s_.cluster.request(t.request).labels.empty(); });
  };
  const auto wants_neighbours = [&](TaskId t) { return !s_.cluster.request(s_.cluster.task(t).request).affinity.empty(); };
  // Who wants neighbours may want some of those.
  const bool fits_then = fits_without([](JobId) { return true; }) ||
                         (std::ranges::any_of(tasks, wants_neighbours) && fits_without([&](JobId v) { return !has_labels(v); }));
  s_.open.catch_up(s_.cluster);
  return fits_then;
}

std::optional<RoomPlan> RoomMaker::plan_room(JobId j, std::span<const Victim> others, const RoomRules& rules) {
  if (!could_fit_without(j, others)) return std::nullopt;
  std::optional<RoomPlan> plan;
  {
    const Attempt on_paper(s_.cluster);
    State state = state_of_search(j, others);
    std::vector<QueueId> from;
    for (uint32_t q = 0; q < s_.accounts.queues().size(); ++q)
      from.emplace_back(q);
    VictimLine victims(state, from, [&](JobId v) { return v != j; });
    RoomRules bounded = rules;
    bounded.most_chunks = kMostCandidates + kMostCandidatesPerTask * static_cast<size_t>(s_.jobs.terms_of(j).tasks);
    bounded.most_attempts = kMostTrials;
    plan = make_room(state, j, victims, bounded);
  }
  s_.open.catch_up(s_.cluster);
  return plan;
}

bool RoomMaker::could_make_room(JobId victim, JobId j) const {
  const std::span<const Task> tasks = s_.jobs.tasks_of(j);
  return std::ranges::any_of(s_.jobs.tasks_of(victim), [&](const Task& theirs) {
    return theirs.state == TaskState::kRunning && std::ranges::any_of(tasks, [&](const Task& task) {
             return s_.cluster.minds_neighbours(task.request) || s_.cluster.is_eligible(task.request, theirs.place.node);
           });
  });
}

/// Those that `j` may stop, each with the reason; the ones that should give way first where there are too many.
std::vector<Victim> RoomMaker::those_to_stop(JobId j) {
  const StopRules& rules = s_.rules;
  const Rank bound = rules.victim_bound(j);
  const bool by_rank_only = !rules.other_grounds();
  const JobRecord& r = s_.jobs[j];
  const std::vector<TaskId> next = s_.jobs.tasks_to_place(j);
  const bool limited =
      s_.accounts.queues().limiting(r.queue, s_.jobs.amounts_of(next), s_.jobs.shape(r.shape).preemptible).valid();
  const size_t most = kMostCandidates + kMostCandidatesPerTask * next.size();
  std::vector<Victim> found;
  if (s_.accounts.queues().any_deserved()) s_.sketch.taken.assign(s_.accounts.queues().size(), Amounts());
  const auto collect = [&](const Waiting& candidate) {
    if (by_rank_only && candidate.rank <= bound) return false;
    if (std::ranges::find(found, candidate.job, &Victim::job) != found.end()) return true;
    const std::optional<Reason> ground = rules.ground_to_stop(j, candidate.job, bound);
    if (ground && (limited || could_make_room(candidate.job, j))) found.push_back({.job = candidate.job, .reason = *ground});
    return found.size() < most;
  };
  s_.stopping.running.for_each_from_last(collect, [](const Waiting&) {});
  if (found.empty() || !rules.reclaims() || s_.policy.shares == ShareRule::kFair) return found;
  // What gives way on its own side, below a queue that both sides share, may be what brings that side within its due.
  const QueueId own = s_.accounts.queues().spec(r.queue).parent;
  if (!own.valid()) return found;
  for (const Victim& v : found)
    for (QueueId at = s_.jobs[v.job].queue; at.valid(); at = s_.accounts.queues().spec(at).parent)
      if (s_.accounts.queues().is_above(at, r.queue)) add_to(s_.sketch.taken[at.index()], s_.jobs.shape_of(v.job).total);
  s_.stopping.running.for_each_from_last(collect, [](const Waiting&) {});
  return found;
}

/// Takes back what others hold above their due: above what they deserve, or by fair shares.
std::optional<RoomPlan> RoomMaker::plan_reclaim(JobId j, std::span<const Victim> others) {
  RoomRules rules;
  if (s_.policy.shares == ShareRule::kDeserved) {
    rules.allowed = [&](State&, JobId, const Amounts& need, std::span<const VictimChunk> chunks) {
      return may_take_by_due(j, need, others, chunks);
    };
    return plan_room(j, others, rules);
  }
  std::vector<JobId> ahead;
  for (const JobId other : s_.stopping.claimed_in_vain)
    if (s_.jobs[other].queue == s_.jobs[j].queue) ahead.push_back(other);
  rules.allowed = may_take;
  rules.in_turn = true;
  rules.ahead = ahead;
  return plan_room(j, others, rules);
}

bool RoomMaker::make_room_in_detail(JobId j, Ground ground) {
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
bool RoomMaker::may_take_by_due(JobId j, const Amounts& need, std::span<const Victim> grounds,
                                std::span<const VictimChunk> chunks) const {
  const auto add = [&](std::vector<Amounts>& sums, const VictimChunk& chunk) {
    for (QueueId at = s_.jobs[chunk.job].queue; at.valid(); at = s_.accounts.queues().spec(at).parent)
      add_to(sums[at.index()], s_.jobs.amounts_of(chunk.tasks));
  };
  std::vector<Amounts> taken(s_.accounts.queues().size());
  std::vector<Amounts> gone(s_.accounts.queues().size());
  for (const VictimChunk& chunk : chunks)
    add(gone, chunk);
  for (const VictimChunk& chunk : chunks) {
    const QueueId from = s_.jobs[chunk.job].queue;
    const auto ground = std::ranges::find(grounds, chunk.job, &Victim::job);
    const bool reclaimed = ground != grounds.end() && ground->reason == Reason::kReclaim;
    if (reclaimed && !s_.accounts.queues().may_reclaim(s_.jobs[j].queue, need, from, taken, gone)) return false;
    add(taken, chunk);
  }
  return true;
}

void RoomMaker::carry_out(JobId j, const RoomPlan& plan, std::span<const Victim> grounds) {
  const auto reason_for = [&](JobId v) {
    const auto ground = std::ranges::find(grounds, v, &Victim::job);
    return ground == grounds.end() ? Reason::kConsolidation : ground->reason;
  };
  s_.life.begin_to_hold(j);
  std::vector<TasksOfJob> movers = by_job(s_.cluster, plan.moved, plan.new_places);
  for (const TasksOfJob& v : by_job(s_.cluster, plan.victims, {}))
    s_.life.stop_tasks(v.job, v.tasks, reason_for(v.job), j);
  std::erase_if(movers, [&](TasksOfJob& v) {
    if (s_.jobs[v.job].phase != Phase::kRunning) return true;  // the rest of it has been stopped
    if (s_.life.take_back_start(v.job)) return true;
    if (s_.jobs.could_go_on_without(v.job, v.tasks)) {
      s_.life.stop_tasks(v.job, v.tasks, Reason::kConsolidation, j);
      return false;
    }
    for (TaskId t = s_.jobs.first_task(v.job); t != s_.jobs.end_task(v.job); t = next(t)) {
      if (s_.cluster.task(t).state != TaskState::kRunning || std::ranges::find(v.tasks, t) != v.tasks.end()) continue;
      v.tasks.push_back(t);  // it comes back to where it was
      v.places.push_back(s_.cluster.task(t).place);
    }
    s_.life.evict(v.job, Reason::kConsolidation, j);
    return false;
  });
  for (size_t i = 0; i < plan.placed.size(); ++i)
    s_.cluster.nominate(plan.placed[i], plan.job_places[i]);
  s_.life.finish_holding(j);
  for (const TasksOfJob& v : movers)
    s_.moves.keep_room(v.job, v.tasks, v.places);
  s_.open.catch_up(s_.cluster);
}

}  // namespace stint::sched
