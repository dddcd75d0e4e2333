// A world that goes on by itself: what it does is taken over into the books, not decided here.
#include <algorithm>

#include "sched/scheduler_moves.h"

namespace stint::sched {

void Scheduler::observe(Instant now, std::span<const Event> events) {
  impl_->take_in(now, events);
  impl_->draft.begin();
}

bool Scheduler::adopt(JobId job, std::span<const NodeId> nodes) {
  const size_t tasks = impl_->tasks_of(job).size();
  CHECK(nodes.size() == tasks, "{} nodes for {} tasks", nodes.size(), tasks);
  std::vector<FoundTask> found;
  for (const NodeId n : nodes)
    found.push_back({.task = TaskId(impl_->first_task(job).index() + static_cast<uint32_t>(found.size())), .node = n});
  return impl_->adopt(job, found);
}

bool Scheduler::adopt(JobId job, std::span<const FoundTask> found) { return impl_->adopt(job, found); }

bool Scheduler::Impl::adopt(JobId j, std::span<const FoundTask> found) {
  JobRecord& r = jobs[j.index()];
  if (r.phase == Phase::kRunning || r.phase == Phase::kLeaving || r.phase == Phase::kEnded) return false;
  if (r.phase == Phase::kHeld) give_up(j);
  for (const FoundTask& f : found) {
    give_up_held(f.node);
    Moves(*this).drop_to(f.node);
  }
  Attempt attempt(cluster);
  Amounts taken;
  for (const FoundTask& f : found) {
    const bool usable = cluster.free()[f.node].usable;
    if (!usable) cluster.set_usable(f.node, true);  // what ran there before it was drained goes on
    std::optional<Place> place = cluster.fit(cluster.task(f.task).request, f.node, Room::kFree);
    if (place) {
      if (f.gpus != 0) place->gpus = f.gpus;
      place->task = f.task;
      cluster.run(f.task, *place, now);
      if (f.leaving)
        cluster.leave(f.task);
      else
        add_to(taken, cluster.amounts(cluster.task(f.task).request));
    }
    if (!usable) cluster.set_usable(f.node, false);
    if (!place) return false;
  }
  attempt.keep();
  open.catch_up(cluster);
  if (r.phase == Phase::kWaiting) pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
  if (r.phase == Phase::kKnown && r.submitted == Instant()) r.submitted = now;
  const auto leaving = std::ranges::count_if(found, &FoundTask::leaving);
  r.leaving = static_cast<int32_t>(leaving);
  r.running = static_cast<int32_t>(found.size()) - r.leaving;
  charge(j, taken, 1);
  arrive(j);
  began(j);
  if (r.running == 0) {
    stop_serving(j);
    r.phase = Phase::kLeaving;
  } else if (!could_go_on_without(j, {})) {
    allow_grace(j);
  }
  return true;
}

}  // namespace stint::sched
