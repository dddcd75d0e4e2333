#include "sched/scheduler_start.h"

#include <algorithm>
#include <utility>

namespace stint::sched {

bool Starter::start(JobId j, Reason reason) {
  if (s_.jobs.terms_of(j).deferrable && s_.times.withhold_dearer(j)) {
    const bool started = start_on_open(j, reason);
    s_.open.release(s_.cluster);
    if (started) return true;
  }
  return start_on_open(j, reason);
}

bool Starter::start_on_open(JobId j, Reason reason) {
  JobRecord& r = s_.jobs[j];
  if (!s_.heads.fits(r.shape)) return false;
  if (s_.accounts.budgets().spent(r.queue).valid()) return false;
  s_.draft.decide(DecisionKind::kStart, reason, j);
  const std::optional<Amounts> placed = s_.jobs.shape(r.shape).plain
                                            ? std::optional(s_.placer.place_tasks(j, s_.accounts.tasks_within_limits(j)))
                                            : s_.placer.place_in_detail(j);
  if (!placed) {
    s_.draft.drop_last();
    if (s_.open.withholds()) return false;  // what is kept for others now may be anybody's before room is made
    s_.heads.note_failed(r.shape);
    return false;
  }
  s_.pending.removed(s_.accounts.queues(), r.queue, r.shape, {.rank = r.rank, .job = j});
  s_.accounts.charge(j, *placed, 1);
  s_.jobs.arrive(j);
  s_.life.began(j);
  return true;
}

void Starter::start_held(Reason reason) {
  give_up_unpaid();
  give_up_lonely();
  std::erase_if(book_.held, [&](JobId j) {
    if (!can_start_held(j)) return false;
    s_.life.start_on_held_room(j, reason);
    return true;
  });
}

/// Room that others were leaving anyway is not for those whose queue has spent its budget before it was free.
void Starter::give_up_unpaid() {
  if (!s_.accounts.budgets().any()) return;
  std::vector<JobId> unpaid;
  for (const JobId j : book_.held)
    if (const JobRecord& r = s_.jobs[j]; !r.admitted && s_.accounts.budgets().spent(r.queue).valid()) unpaid.push_back(j);
  for (const JobId j : unpaid)
    s_.life.give_up(j);
}

/// Those whose wanted neighbours have gone from beside their promised room wait again, for room elsewhere.
void Starter::give_up_lonely() {
  std::vector<JobId> lonely;
  for (const JobId j : book_.held) {
    const auto wants = [&](const Task& task) {
      return task.state == TaskState::kNominated && !s_.cluster.request(task.request).affinity.empty();
    };
    const std::span<const Task> tasks = s_.jobs.tasks_of(j);
    if (std::none_of(tasks.begin(), tasks.end(), wants)) continue;
    const std::vector<Task> promised(tasks.begin(), tasks.end());
    const Attempt trial(s_.cluster);
    for (size_t t = 0; t < promised.size(); ++t)
      if (promised[t].state == TaskState::kNominated)
        s_.cluster.gone(TaskId(s_.jobs.first_task(j).index() + static_cast<uint32_t>(t)), TaskState::kPending);
    for (size_t t = 0; t < promised.size(); ++t) {
      if (promised[t].state != TaskState::kNominated) continue;
      if (!s_.cluster.fit(promised[t].request, promised[t].place.node, Room::kComing)) {
        lonely.push_back(j);
        break;
      }
      s_.cluster.nominate(TaskId(s_.jobs.first_task(j).index() + static_cast<uint32_t>(t)), promised[t].place);
    }
  }
  for (const JobId j : lonely)
    s_.life.give_up(j);
}

/// Each task for itself, and all of them together: two of them may be waiting for what one victim has left.
bool Starter::can_start_held(JobId j) {
  for (TaskId t = s_.jobs.first_task(j); t != s_.jobs.end_task(j); t = next(t))
    if (s_.cluster.task(t).state == TaskState::kNominated && !s_.cluster.can_run_nominated(t)) return false;
  if (s_.jobs[j].held == 1) return true;
  const Cluster::Trial trial = s_.cluster.open_trial();
  bool all = true;
  for (TaskId t = s_.jobs.first_task(j); all && t != s_.jobs.end_task(j); t = next(t)) {
    if (s_.cluster.task(t).state != TaskState::kNominated) continue;
    all = s_.cluster.can_run_nominated(t);
    if (all) s_.cluster.run(t, s_.cluster.task(t).place, s_.clock.now);
  }
  s_.cluster.undo(trial);
  return all;
}

void Starter::grow() {
  std::erase_if(book_.growing, [&](JobId j) {
    const JobRecord& r = s_.jobs[j];
    return r.phase != Phase::kRunning || r.running == s_.jobs.shape(r.shape).tasks;
  });
  for (const JobId j : book_.growing)
    while (grow_one(j)) {
    }
}

bool Starter::grow_one(JobId j) {
  const JobRecord& r = s_.jobs[j];
  if (!s_.times.is_open(r.queue)) return false;
  if (r.running + r.leaving == s_.jobs.shape(r.shape).tasks || s_.accounts.budgets().spent(r.queue).valid())
    return false;  // none waits
  for (const Reservation& reserved : s_.reservations)
    for (const Claim& claim : reserved.claims)
      if (r.latest_end > reserved.at) {
        s_.open.withhold(s_.cluster, claim.node, kMaxGpusPerNode);
        if (!s_.jobs.shape(r.shape).plain) s_.open.close(s_.cluster, claim.node);
      }
  const bool grown = grow_on_open(j);
  s_.open.release(s_.cluster);
  return grown;
}

bool Starter::grow_on_open(JobId j) {
  const JobRecord& r = s_.jobs[j];
  const Shape& shape = s_.jobs.shape(r.shape);
  if (!shape.plain) return grow_in_detail(j);
  if (!s_.open.buckets().any_from(shape.parts.back().gpus)) return false;
  const Amounts one = s_.cluster.amounts(shape.request);
  if (s_.accounts.queues().limiting(r.queue, one, shape.preemptible).valid()) return false;
  s_.draft.decide(DecisionKind::kGrow, Reason::kFree, j);
  s_.accounts.charge(j, s_.placer.place_tasks(j, 1), 1);
  s_.accounts.meter(j);
  return true;
}

/// What is missing of its minimum, else one task more.
bool Starter::grow_in_detail(JobId j) {
  const ShapeId s = s_.jobs[j].shape;
  book_.grow_failed_at.resize(s_.jobs.shape_count());
  if (book_.grow_failed_at[s.index()] == s_.clock.room_made) return false;
  s_.draft.decide(DecisionKind::kGrow, Reason::kFree, j);
  const std::optional<Amounts> grown = s_.placer.place_in_detail(j);
  if (!grown) {
    s_.draft.drop_last();
    if (!s_.open.withholds()) book_.grow_failed_at[s.index()] = s_.clock.room_made;
    return false;
  }
  s_.accounts.charge(j, *grown, 1);
  s_.accounts.meter(j);
  ++s_.clock.changes;
  return true;
}

}  // namespace stint::sched
