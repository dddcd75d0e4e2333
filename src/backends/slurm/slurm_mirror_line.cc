// The line of the jobs that Slurm places itself: on a copy of the books all of them wait, beside those that are ours, and the
// scheduler says who goes first.
#include <algorithm>
#include <tuple>

#include "backends/slurm/slurm_mirror.h"
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
  std::vector<std::pair<SlurmTurn, ClusterJob>> standing;
  for (const SlurmEntry& entry : view.entries) {
    const SlurmNote note = note_of(entry);
    if (!stands_in_line(entry, note, now)) continue;
    auto wish = wish_of(entry, note.wants, machines_);
    if (!wish.ok()) {
      line.notes.push_back(fmt::format("job {} keeps its place in line: {}", entry.id, wish.error().message));
      continue;
    }
    ClusterJob job = job_of(entry, entry.id, note);
    job.preemptible = entry.requeue && is_driven(entry.partition);
    job.request = wish->request;
    job.tasks = wish->nodes;
    standing.emplace_back(
        SlurmTurn{.entry = &entry, .note = note, .request = wish->request, .nodes = wish->nodes, .priority = job.priority},
        std::move(job));
  }
  std::ranges::stable_sort(standing, {},
                           [](const auto& s) { return std::tuple(s.first.entry->submitted, job_number(s.first.entry->id)); });
  std::vector<ClusterJob> jobs;
  for (auto& [turn, job] : standing)
    jobs.push_back(std::move(job));
  std::vector<bool> paid(jobs.size());
  for (const size_t next : mirror_.line(now, jobs)) {
    paid[next] = true;
    line.paid.push_back(standing[next].first);
  }
  for (size_t i = 0; i < jobs.size(); ++i)
    if (!paid[i]) line.unpaid.push_back(standing[i].first);
  return line;
}

}  // namespace stint
