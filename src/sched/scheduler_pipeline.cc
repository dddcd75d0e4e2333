// Jobs that wait for jobs: dependencies, arrays of which some run at once, and stages whose result another job has made.
//
// A submitted job passes three gates in turn: what it depends on has succeeded; no other job makes, or has made, what it
// makes; its array has a place. A job that ends opens gates for others. Followers of a job that ends within the look at
// those of another are taken up after them, so that a long chain needs no deep stack.
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

template <typename State, typename Id>
State& state_of(std::vector<State>& states, Id id) {
  if (id.index() >= states.size()) states.resize(id.index() + 1);
  return states[id.index()];
}

}  // namespace

void Scheduler::Impl::wait_for_others(JobId j) {
  JobRecord& r = jobs[j.index()];
  for (const JobId needed : terms_of(j).after) {
    const JobRecord& n = jobs[needed.index()];
    if (n.phase == Phase::kEnded && n.succeeded) continue;
    if (n.phase == Phase::kEnded) return reject(j, Reason::kDependencyFailed);
    state_of(dependents, needed).push_back(j);
    ++r.blockers;
  }
  if (r.blockers == 0) become_ready(j);
}

/// What it depends on has succeeded.
void Scheduler::Impl::become_ready(JobId j) {
  if (is_to_make(j) && is_its_turn(j)) come_into_play(j);
}

/// Must it make its product itself? If not, it is skipped, or waits for the one that is at work.
bool Scheduler::Impl::is_to_make(JobId j) {
  const ProductId makes = terms_of(j).makes;
  if (!makes.valid()) return true;
  ProductState& product = state_of(products, makes);
  if (product.made) {
    skip(j);
    return false;
  }
  if (product.maker.valid()) {
    product.waiting.push_back(j);
    return false;
  }
  product.maker = j;
  return true;
}

/// Does its array have a place? If not, it is called later.
bool Scheduler::Impl::is_its_turn(JobId j) {
  const JobTerms& spec = terms_of(j);
  if (!spec.array.valid() || spec.at_once == 0) return true;
  ArrayState& array = state_of(arrays, spec.array);
  if (array.in_play < spec.at_once) return true;
  array.held_back.push_back(j);
  return false;
}

/// Does it wait for no other job?
bool Scheduler::Impl::is_past_gates(JobId j) const {
  const JobTerms& spec = terms_of(j);
  const JobRecord& r = jobs[j.index()];
  const bool makes_it = !spec.makes.valid() || (spec.makes.index() < products.size() && products[spec.makes.index()].maker == j);
  return r.blockers == 0 && makes_it && (!spec.array.valid() || r.in_play);
}

/// All gates are open: it waits for room, when its time has come.
void Scheduler::Impl::come_into_play(JobId j) {
  const JobTerms& spec = terms_of(j);
  JobRecord& r = jobs[j.index()];
  if (spec.array.valid()) {
    r.in_play = true;
    ++state_of(arrays, spec.array).in_play;
  }
  const Shape& shape = shapes[r.shape];
  if (!shape.plain) observe(j);
  const bool fits = machines_may_come || (shape.plain ? OpenNodes::fits(shape, capacity.counts()) : fits_idle_fleet(j));
  if (!fits) return reject(j, Reason::kNeverFits);
  if (spec.not_before > now) return set_timer(timers, spec.not_before, j, TimerKind::kBegin);
  if (!spec.deferrable || !defer(j)) wait(j);
}

/// The job has ended: those that wait for it may begin, or never will.
void Scheduler::Impl::end(JobId j, bool success) {
  JobRecord& r = jobs[j.index()];
  r.phase = Phase::kEnded;
  r.succeeded = success;
  learn_from(j);
  ended.push_back(j);
  if (ended.size() > 1) return;  // the loop below, further up, comes to it
  for (size_t i = 0; i < ended.size(); ++i) {
    const JobId gone = ended[i];
    call_dependents(gone);
    call_next_of_array(gone);
    settle_product(gone);
  }
  ended.clear();
}

void Scheduler::Impl::reject(JobId j, Reason reason) {
  draft.decide(DecisionKind::kReject, reason, j);
  end(j, false);
}

void Scheduler::Impl::skip(JobId j) {
  draft.decide(DecisionKind::kSkip, Reason::kMadeAlready, j);
  end(j, true);
}

void Scheduler::Impl::call_dependents(JobId j) {
  if (j.index() >= dependents.size()) return;
  const bool success = jobs[j.index()].succeeded;
  const std::vector<JobId> waiting = std::move(dependents[j.index()]);
  for (const JobId d : waiting) {
    JobRecord& other = jobs[d.index()];
    if (other.phase != Phase::kNotYet) continue;
    if (!success)
      reject(d, Reason::kDependencyFailed);
    else if (--other.blockers == 0)
      become_ready(d);
  }
}

void Scheduler::Impl::call_next_of_array(JobId j) {
  if (!std::exchange(jobs[j.index()].in_play, false)) return;
  ArrayState& array = arrays[terms_of(j).array.index()];
  --array.in_play;
  while (array.next < array.held_back.size()) {
    const JobId next = array.held_back[array.next++];
    if (jobs[next.index()].phase != Phase::kNotYet) continue;  // cancelled meanwhile
    return come_into_play(next);
  }
  array.held_back.clear();
  array.next = 0;
}

/// What the maker leaves undone is taken up by the next that waits for it.
void Scheduler::Impl::settle_product(JobId j) {
  const ProductId makes = terms_of(j).makes;
  if (!makes.valid() || makes.index() >= products.size() || products[makes.index()].maker != j) return;
  ProductState& product = products[makes.index()];
  product.made = jobs[j.index()].succeeded;
  product.maker = {};
  const std::vector<JobId> waiting = std::move(product.waiting);
  product.waiting.clear();
  for (const JobId w : waiting)
    if (jobs[w.index()].phase == Phase::kNotYet) become_ready(w);
}

}  // namespace stint::sched
