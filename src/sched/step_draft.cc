#include "sched/step_draft.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {

void StepDraft::begin() {
  decisions_.clear();
  places_.clear();
  places_end_.clear();
  taken_back_.clear();
}

Decision& StepDraft::decide(DecisionKind kind, Reason reason, JobId job) {
  places_end_.push_back(places_.size());
  return decisions_.emplace_back(Decision{.kind = kind, .reason = reason, .job = job, .for_job = {}, .places = {}});
}

void StepDraft::add_place(const Place& place) {
  places_.push_back(place);
  places_end_.back() = places_.size();
}

void StepDraft::drop_last() {
  decisions_.pop_back();
  places_end_.pop_back();
  places_.resize(first_place(decisions_.size()));
}

const Decision* StepDraft::start_of(JobId job) const {
  const auto is_start = [&](const Decision& d) { return d.kind == DecisionKind::kStart && d.job == job; };
  const auto found = std::ranges::find_if(decisions_, is_start);
  return found == decisions_.end() ? nullptr : &*found;
}

void StepDraft::take_back_start(JobId job) {
  const Decision* start = start_of(job);
  CHECK(start != nullptr, "job {} does not start in this step", job.index());
  const auto d = start - decisions_.data();
  const size_t begin = first_place(static_cast<size_t>(d));
  const size_t end = places_end_[static_cast<size_t>(d)];
  places_.erase(places_.begin() + static_cast<ptrdiff_t>(begin), places_.begin() + static_cast<ptrdiff_t>(end));
  decisions_.erase(decisions_.begin() + d);
  places_end_.erase(places_end_.begin() + d);
  for (auto later = static_cast<size_t>(d); later < places_end_.size(); ++later)
    places_end_[later] -= end - begin;
  taken_back_.push_back(job);
}

size_t StepDraft::times_taken_back(JobId job) const { return static_cast<size_t>(std::ranges::count(taken_back_, job)); }

void StepDraft::withdraw_orders(const std::function<bool(TaskId)>& still_there) {
  size_t kept_decisions = 0;
  size_t kept_places = 0;
  size_t place = 0;
  for (size_t d = 0; d < decisions_.size(); ++d) {
    const size_t before = kept_places;
    for (; place < places_end_[d]; ++place)
      if (decisions_[d].kind != DecisionKind::kEvict || still_there(places_[place].task)) places_[kept_places++] = places_[place];
    if (decisions_[d].kind == DecisionKind::kEvict && kept_places == before) continue;
    decisions_[kept_decisions] = decisions_[d];
    places_end_[kept_decisions++] = kept_places;
  }
  decisions_.resize(kept_decisions);
  places_end_.resize(kept_decisions);
  places_.resize(kept_places);
}

std::span<const Decision> StepDraft::close() {
  for (size_t d = 0; d < decisions_.size(); ++d)
    decisions_[d].places = std::span(places_).subspan(first_place(d), places_end_[d] - first_place(d));
  return decisions_;
}

}  // namespace stint::sched
