#include "sched/job_table.h"

#include <utility>

#include "sched/place/place_gang.h"

namespace stint::sched {

std::vector<TaskId> JobTable::tasks_to_place(JobId j) const {
  const JobTerms& spec = terms_of(j);
  return next_tasks(cluster_, first_task(j), spec.tasks, gang_of(j), spec.min_tasks);
}

Amounts JobTable::amounts_of(std::span<const TaskId> tasks) const {
  Amounts sum;
  for (const TaskId t : tasks)
    add_to(sum, cluster_.amounts(cluster_.task(t).request));
  return sum;
}

Amounts JobTable::least_amounts(JobId j) const {
  const Shape& shape = shape_of(j);
  if (shape.gang.valid()) return amounts_of(tasks_to_place(j));
  Amounts least;
  add_to(least, cluster_.amounts(shape.request), shape.min_tasks);
  return least;
}

bool JobTable::could_go_on_without(JobId v, std::span<const TaskId> tasks) const {
  const Gang* gang = gang_of(v);
  const auto left = [&](int32_t leaf) {
    int32_t count = 0;
    for (TaskId t = first_task(v); t != end_task(v); t = next(t)) {
      const Task& task = cluster_.task(t);
      const bool counts = task.state == TaskState::kRunning && (leaf < 0 || task.group == leaf);
      if (counts && std::ranges::find(tasks, t) == tasks.end()) ++count;
    }
    return count;
  };
  if (left(-1) < terms_of(v).min_tasks) return false;
  if (gang == nullptr) return true;
  for (size_t leaf = 0; leaf < gang->groups.size(); ++leaf)
    if (left(static_cast<int32_t>(leaf)) < gang->groups[leaf].min_tasks) return false;
  return true;
}

bool JobTable::is_neighbour(JobId j) const {
  return !shape_of(j).plain &&
         std::ranges::any_of(tasks_of(j), [&](const Task& task) { return cluster_.minds_neighbours(task.request); });
}

std::vector<JobId> JobTable::jobs_on(NodeId n) const {
  std::vector<JobId> found;
  cluster_.for_each_on(n, [&](TaskId t) {
    if (cluster_.task(t).job.valid()) found.push_back(cluster_.task(t).job);
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void JobTable::arrive(JobId j) {
  (*this)[j].present_at = static_cast<uint32_t>(book_.present.size());
  book_.present.push_back(j);
}

void JobTable::depart(JobId j) {
  const uint32_t at = std::exchange((*this)[j].present_at, UINT32_MAX);
  (*this)[book_.present.back()].present_at = at;
  std::swap(book_.present[at], book_.present.back());
  book_.present.pop_back();
  (*this)[j].present_at = UINT32_MAX;
}

void JobTable::set_timer(TimerHeap& heap, Instant at, JobId j, TimerKind kind) const {
  const auto is_alive = [&](const Timer& t) {
    const JobRecord& r = (*this)[t.job];
    return t.starts == r.starts && r.phase == (t.kind == TimerKind::kBegin ? Phase::kNotYet : Phase::kRunning);
  };
  heap.set({.at = at, .job = j, .kind = kind, .starts = (*this)[j].starts}, is_alive);
}

}  // namespace stint::sched
