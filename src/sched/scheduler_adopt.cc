// A world that goes on by itself: what it does is taken over into the books, not decided here.
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {

void Scheduler::observe(Instant now, std::span<const Event> events) {
  impl_->take_in(now, events);
  impl_->books.draft.begin();
}

bool Scheduler::adopt(JobId job, std::span<const NodeId> nodes) {
  const size_t tasks = impl_->jobs.tasks_of(job).size();
  CHECK(nodes.size() == tasks, "{} nodes for {} tasks", nodes.size(), tasks);
  std::vector<FoundTask> found;
  for (const NodeId n : nodes)
    found.push_back({.task = TaskId(impl_->jobs.first_task(job).index() + static_cast<uint32_t>(found.size())), .node = n});
  return impl_->happenings.adopt(job, found);
}

bool Scheduler::adopt(JobId job, std::span<const FoundTask> found) { return impl_->happenings.adopt(job, found); }

bool Happenings::adopt(JobId j, std::span<const FoundTask> found) {
  JobRecord& r = s_.jobs[j];
  if (r.phase == Phase::kRunning || r.phase == Phase::kLeaving || r.phase == Phase::kEnded) return false;
  if (r.phase == Phase::kHeld) s_.life.give_up(j);
  for (const FoundTask& f : found) {
    s_.life.give_up_held(f.node);
    s_.moves.drop_to(f.node);
  }
  Attempt attempt(s_.fleet.cluster);
  Amounts taken;
  for (const FoundTask& f : found) {
    const bool usable = s_.fleet.cluster.free()[f.node].usable;
    if (!usable) s_.fleet.cluster.set_usable(f.node, true);  // what ran there before it was drained goes on
    std::optional<Place> place = s_.fleet.cluster.fit(s_.fleet.cluster.task(f.task).request, f.node, Room::kFree);
    if (place) {
      if (f.gpus != 0) place->gpus = f.gpus;
      place->task = f.task;
      s_.fleet.cluster.run(f.task, *place, s_.clock.now);
      if (f.leaving)
        s_.fleet.cluster.leave(f.task);
      else
        add_to(taken, s_.fleet.cluster.amounts(s_.fleet.cluster.task(f.task).request));
    }
    if (!usable) s_.fleet.cluster.set_usable(f.node, false);
    if (!place) return false;
  }
  attempt.keep();
  s_.fleet.open.catch_up(s_.fleet.cluster);
  if (r.phase == Phase::kWaiting) s_.pending.removed(s_.accounts.queues(), r.queue, r.shape, {.rank = r.rank, .job = j});
  if (r.phase == Phase::kKnown && r.submitted == Instant()) r.submitted = s_.clock.now;
  const auto leaving = std::ranges::count_if(found, &FoundTask::leaving);
  r.leaving = static_cast<int32_t>(leaving);
  r.running = static_cast<int32_t>(found.size()) - r.leaving;
  s_.accounts.charge(j, taken, 1);
  s_.jobs.arrive(j);
  s_.life.began(j);
  if (r.running == 0) {
    s_.life.stop_serving(j);
    r.phase = Phase::kLeaving;
  } else if (!s_.jobs.could_go_on_without(j, {})) {
    s_.life.allow_grace(j);
  }
  return true;
}

}  // namespace stint::sched
