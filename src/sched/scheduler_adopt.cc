// A world that goes on by itself: what it does is taken over into the books, not decided here.
#include "sched/scheduler_impl.h"

namespace stint::sched {

void Scheduler::observe(Instant now, std::span<const Event> events) {
  impl_->take_in(now, events);
  impl_->decisions.clear();
  impl_->places.clear();
  impl_->places_end.clear();
}

bool Scheduler::adopt(JobId job, std::span<const NodeId> nodes) { return impl_->adopt(job, nodes); }

bool Scheduler::Impl::adopt(JobId j, std::span<const NodeId> nodes) {
  JobRecord& r = jobs[j.index()];
  CHECK(nodes.size() == static_cast<size_t>(shapes[r.shape].tasks), "{} nodes for {} tasks", nodes.size(), shapes[r.shape].tasks);
  if (r.phase == Phase::kRunning || r.phase == Phase::kLeaving || r.phase == Phase::kEnded) return false;
  if (r.phase == Phase::kHeld) give_up(j);
  for (const NodeId n : nodes) {
    give_up_held(n);
    drop_moves_to(n);
  }
  Attempt attempt(cluster);
  Amounts taken;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const TaskId t(r.first_task + static_cast<uint32_t>(i));
    const bool usable = cluster.free()[nodes[i]].usable;
    if (!usable) cluster.set_usable(nodes[i], true);  // what ran there before it was drained goes on
    const std::optional<Place> place = cluster.fit(cluster.task(t).request, nodes[i], Room::kFree);
    if (place) {
      Place mine = *place;
      mine.task = t;
      cluster.run(t, mine, now);
      add_to(taken, cluster.amounts(cluster.task(t).request));
    }
    if (!usable) cluster.set_usable(nodes[i], false);
    if (!place) return false;
  }
  attempt.keep();
  open.catch_up(cluster);
  if (r.phase == Phase::kWaiting) pending.removed(queues, r.queue, r.shape, {.rank = r.rank, .job = j});
  if (r.phase == Phase::kKnown && r.submitted == Instant()) r.submitted = now;
  r.running = static_cast<int32_t>(nodes.size());
  charge(j, taken, 1);
  arrive(j);
  began(j);
  return true;
}

}  // namespace stint::sched
