// The line of the jobs that Slurm places itself: on a copy of the books all of them wait, beside those that are ours, and the
// scheduler says who goes first.
#include <algorithm>
#include <tuple>

#include "backends/slurm_mirror.h"
#include "base/text.h"

namespace stint {

/// Held by somebody, kept by others or by its time, it has no place that matters. Tasks of an array that have not begun have one together.
bool SlurmMirror::stands_in_line(const SlurmEntry& entry, const SlurmNote& note, Instant now) const {
  const bool open = entry.held ? note.unpaid : !note.placed;
  return open && entry.state == RunState::kPending && entry.on_nodes.empty() && is_driven(entry.partition) &&
         !waits_for_others(entry) && !begins_later(entry, now);
}

SlurmLine SlurmMirror::line(Instant now, const SlurmView& view) const {
  SlurmLine line;
  SlurmMirror books = *this;
  std::vector<Found> found;
  for (const SlurmEntry& entry : view.entries) {
    Found f{.entry = &entry, .key = entry.id, .note = note_of(entry)};
    if (!stands_in_line(entry, f.note, now)) continue;
    auto wish = wish_of(entry, f.note.wants, machines_);
    if (wish.ok()) {
      f.wish = std::move(*wish);
      found.push_back(std::move(f));
    } else {
      line.notes.push_back(fmt::format("job {} keeps its place in line: {}", entry.id, wish.error().message));
    }
  }
  std::ranges::stable_sort(found, {}, [](const Found& f) { return std::tuple(f.entry->submitted, job_number(f.key)); });
  std::map<sched::JobId, SlurmTurn> turns;
  Events submits;
  for (const Found& f : found) {
    sched::Event submit;
    submit.kind = sched::EventKind::kSubmit;
    submit.job = books.add(f).id;
    submits.push_back(submit);
    turns[submit.job] = {
        .entry = f.entry, .note = f.note, .request = f.wish.request, .nodes = f.wish.nodes, .priority = priority_of(*f.entry)};
  }
  books.scheduler_->observe(now, submits);
  for (const sched::JobId job : books.scheduler_->waiting_line())
    if (auto turn = turns.extract(job)) line.paid.push_back(std::move(turn.mapped()));
  for (auto& [job, turn] : turns)
    line.unpaid.push_back(std::move(turn));
  return line;
}

}  // namespace stint
