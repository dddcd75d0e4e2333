// Jobs that wait for jobs: dependencies, arrays of which some run at once, and stages whose result another job has made.
//
// A submitted job passes three gates in turn: what it depends on has succeeded; no other job makes, or has made, what it
// makes; its array has a place. A job that ends opens gates for others. Followers of a job that ends within the look at
// those of another are taken up after them, so that a long chain needs no deep stack.
#include "sched/scheduler_pipeline.h"

#include <algorithm>

namespace stint::sched {
namespace {

template <typename State, typename Id>
State& state_of(std::vector<State>& states, Id id) {
  if (id.index() >= states.size()) states.resize(id.index() + 1);
  return states[id.index()];
}

}  // namespace

void Gates::wait_for_others(JobId j) {
  JobRecord& r = s_.jobs[j];
  for (const JobId needed : s_.jobs.terms_of(j).after) {
    const JobRecord& n = s_.jobs[needed];
    if (n.phase == Phase::kEnded && n.succeeded) continue;
    if (n.phase == Phase::kEnded) return reject(j, Reason::kDependencyFailed);
    state_of(book_.dependents, needed).push_back(j);
    ++r.blockers;
  }
  if (r.blockers == 0) become_ready(j);
}

/// What it depends on has succeeded.
void Gates::become_ready(JobId j) {
  if (is_to_make(j) && is_its_turn(j)) come_into_play(j);
}

/// Must it make its product itself? If not, it is skipped, or waits for the one that is at work.
bool Gates::is_to_make(JobId j) {
  const ProductId makes = s_.jobs.terms_of(j).makes;
  if (!makes.valid()) return true;
  ProductState& product = state_of(book_.products, makes);
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
bool Gates::is_its_turn(JobId j) {
  const JobTerms& spec = s_.jobs.terms_of(j);
  if (!spec.array.valid() || spec.at_once == 0) return true;
  ArrayState& array = state_of(book_.arrays, spec.array);
  if (array.in_play < spec.at_once) return true;
  array.held_back.push_back(j);
  return false;
}

bool Gates::is_past_gates(JobId j) const {
  const JobTerms& spec = s_.jobs.terms_of(j);
  const JobRecord& r = s_.jobs[j];
  const bool makes_it =
      !spec.makes.valid() || (spec.makes.index() < book_.products.size() && book_.products[spec.makes.index()].maker == j);
  return r.blockers == 0 && makes_it && (!spec.array.valid() || r.in_play);
}

/// All gates are open: it waits for room, when its time has come.
void Gates::come_into_play(JobId j) {
  const JobTerms& spec = s_.jobs.terms_of(j);
  JobRecord& r = s_.jobs[j];
  if (spec.array.valid()) {
    r.in_play = true;
    ++state_of(book_.arrays, spec.array).in_play;
  }
  const Shape& shape = s_.jobs.shape(r.shape);
  if (!shape.plain) s_.placer.observe(j);
  const bool fits = s_.fleet.machines_may_come ||
                    (shape.plain ? OpenNodes::fits(shape, s_.fleet.capacity.counts()) : s_.placer.fits_idle_fleet(j));
  if (!fits) return reject(j, Reason::kNeverFits);
  if (spec.not_before > s_.clock.now) return s_.jobs.set_timer(s_.timers, spec.not_before, j, TimerKind::kBegin);
  if (!spec.deferrable || !s_.times.defer(j)) s_.life.wait(j);
}

void Gates::end(JobId j, bool success) {
  JobRecord& r = s_.jobs[j];
  r.phase = Phase::kEnded;
  r.succeeded = success;
  s_.forecasts.learn_from(j);
  book_.ended.push_back(j);
  if (book_.ended.size() > 1) return;  // the loop below, further up, comes to it
  for (size_t i = 0; i < book_.ended.size(); ++i) {
    const JobId gone = book_.ended[i];
    call_dependents(gone);
    call_next_of_array(gone);
    settle_product(gone);
  }
  book_.ended.clear();
}

void Gates::reject(JobId j, Reason reason) {
  s_.draft.decide(DecisionKind::kReject, reason, j);
  end(j, false);
}

void Gates::skip(JobId j) {
  s_.draft.decide(DecisionKind::kSkip, Reason::kMadeAlready, j);
  end(j, true);
}

void Gates::call_dependents(JobId j) {
  if (j.index() >= book_.dependents.size()) return;
  const bool success = s_.jobs[j].succeeded;
  const std::vector<JobId> waiting = std::move(book_.dependents[j.index()]);
  for (const JobId d : waiting) {
    JobRecord& other = s_.jobs[d];
    if (other.phase != Phase::kNotYet) continue;
    if (!success)
      reject(d, Reason::kDependencyFailed);
    else if (--other.blockers == 0)
      become_ready(d);
  }
}

void Gates::call_next_of_array(JobId j) {
  if (!std::exchange(s_.jobs[j].in_play, false)) return;
  ArrayState& array = book_.arrays[s_.jobs.terms_of(j).array.index()];
  --array.in_play;
  while (array.next < array.held_back.size()) {
    const JobId next = array.held_back[array.next++];
    if (s_.jobs[next].phase != Phase::kNotYet) continue;  // cancelled meanwhile
    return come_into_play(next);
  }
  array.held_back.clear();
  array.next = 0;
}

/// What the maker leaves undone is taken up by the next that waits for it.
void Gates::settle_product(JobId j) {
  const ProductId makes = s_.jobs.terms_of(j).makes;
  if (!makes.valid() || makes.index() >= book_.products.size() || book_.products[makes.index()].maker != j) return;
  ProductState& product = book_.products[makes.index()];
  product.made = s_.jobs[j].succeeded;
  product.maker = {};
  const std::vector<JobId> waiting = std::move(product.waiting);
  product.waiting.clear();
  for (const JobId w : waiting)
    if (s_.jobs[w].phase == Phase::kNotYet) become_ready(w);
}

}  // namespace stint::sched
