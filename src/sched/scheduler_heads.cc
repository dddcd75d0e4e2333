#include "sched/scheduler_heads.h"

namespace stint::sched {

bool Heads::fits(ShapeId s) const {
  if (s_.jobs.shape(s).plain) return s_.open.fits(s_.jobs.shape(s));
  return s.index() >= book_.failed_at.size() || book_.failed_at[s.index()] != s_.clock.room_made;
}

bool Heads::close_if_limited(JobId j) {
  if (s_.times.put_off(j)) return true;
  if (s_.accounts.tasks_within_limits(j) > 0) return false;
  const JobRecord& r = s_.jobs[j];
  const Shape& shape = s_.jobs.shape(r.shape);
  const QueueId spent = s_.accounts.budgets().spent(r.queue);
  book_.waits_for_budget = book_.waits_for_budget || spent.valid();
  const QueueId limited =
      spent.valid() ? spent : s_.accounts.queues().limiting(r.queue, s_.jobs.least_amounts(j), shape.preemptible);
  book_.pending.close(s_.accounts.queues(), r.queue, r.shape, limited);
  return true;
}

bool Heads::may_search(SearchFor what) {
  uint32_t& made = book_.searches[static_cast<size_t>(what)];
  if (made == kMostSearches) return false;
  ++made;
  return true;
}

void Heads::note_failed(ShapeId s) {
  book_.failed_at.resize(s_.jobs.shape_count());
  book_.failed_at[s.index()] = s_.clock.room_made;
}

}  // namespace stint::sched
