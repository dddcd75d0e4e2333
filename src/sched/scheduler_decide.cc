// What follows: which jobs start, in which order, and where.
#include <algorithm>
#include <utility>

#include "sched/scheduler_impl.h"

namespace stint::sched {

void Scheduler::Impl::decide() {
  heads.begin_step();
  starter.start_held(Reason::kHeld);
  books.fleet.open.catch_up(books.fleet.cluster);
  if (policy.shares == ShareRule::kFair) accounts.divide_shares(books.runs.growing);
  start_with_neighbours();
  if (policy.backfill == Backfill::kNone) promise_leaving_room();
  while (free_room())
    start_with_neighbours();
  preemption.end_step();
  if (books.draft.any_taken_back()) starter.start_held(Reason::kFree);
  starter.grow();
}

/// Moves or stops others for one that waits. @return whether any leave. By fair shares who goes first decides whether a claim or a
/// move comes first: what a move gave to another would be claimed back.
bool Scheduler::Impl::free_room() {
  if (policy.shares == ShareRule::kDeserved) return consolidation.move_for_one() || preemption.stop_for_one(Ground::kAny);
  return preemption.stop_for_one(Ground::kReclaim) || preemption.stop_for_one(Ground::kPriority);
}

/// Room that is being left goes to the first in line that fit there, where no reservations are kept: else they would have others
/// stopped for what is free in a moment.
void Scheduler::Impl::promise_leaving_room() {
  const auto may_try = [&](ShapeId s) { return !jobs.shape(s).plain && !heads.fits(s); };
  const auto waits = [&](ShapeId s) { return books.line.pending.head(s) != nullptr && may_try(s); };
  if (std::ranges::none_of(books.line.pending.shapes(), waits)) return;
  if (std::ranges::none_of(jobs.present(), [&](JobId j) { return jobs[j].leaving > 0; })) return;
  heads.try_in_order(may_try, [&](ShapeId s) {
    const JobId j = books.line.pending.head(s)->job;
    if (heads.close_if_limited(j)) return Tried::kClosed;
    const bool fits_then = placer.nominate_in_detail(j);
    books.fleet.open.catch_up(books.fleet.cluster);
    if (!fits_then) return blocks_at_head(policy.order) ? Tried::kEnough : Tried::kInVain;
    life.begin_to_hold(j);
    life.finish_holding(j);
    return Tried::kStarted;
  });
}

/// Starts jobs, and once more where some have started beside whom others want to be.
void Scheduler::Impl::start_with_neighbours() {
  for (bool again = true; again;) {
    const auto before = std::pair(books.clock.room_made, books.draft.size());
    start_all();
    again = books.clock.room_made != before.first && books.draft.size() != before.second;
  }
}

/// Starts jobs in order until the next one does not fit (or none of them does, where others may pass).
void Scheduler::Impl::start_all() {
  if (policy.backfill != Backfill::kNone) return backfill.start_jobs();
  const bool blocks = blocks_at_head(policy.order);
  heads.try_in_order([&](ShapeId s) { return blocks || heads.fits(s); },
                     [&](ShapeId s) {
                       const JobId j = books.line.pending.head(s)->job;
                       if (heads.close_if_limited(j)) return Tried::kClosed;
                       if (starter.start(j, Reason::kFree)) return Tried::kStarted;
                       return blocks ? Tried::kEnough : Tried::kInVain;
                     });
}

}  // namespace stint::sched
