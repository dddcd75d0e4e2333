#include "sched/search/job_order.h"

#include <algorithm>

namespace stint::sched {

Fill fill_of(const State& state, JobId j) {
  if (!state.whole(j)) return Fill::kBelow;
  return state.active(j) > state.job(j).spec.min_tasks ? Fill::kAbove : Fill::kExact;
}

bool WaitingJobs::Entry::operator<(const Entry& o) const {
  if (priority != o.priority) return priority < o.priority;
  if (fill != o.fill) return fill > o.fill;
  return job > o.job;
}

void WaitingJobs::put_back(JobId j) {
  const std::vector<TaskId> next = state_.next_tasks(j);
  if (next.empty()) return;
  const JobSpec& spec = state_.job(j).spec;
  const Entry entry{j, state_.amounts(next), spec.priority, fill_of(state_, j)};
  std::vector<Entry>& line = by_queue_[spec.queue.index()];
  line.insert(std::upper_bound(line.begin(), line.end(), entry), entry);
}

const WaitingJobs::Entry* WaitingJobs::first_below(QueueId q) const {
  if (q.valid() && !by_queue_[q.index()].empty()) return &by_queue_[q.index()].back();
  const Entry* best = nullptr;
  QueueTree::Next best_next;
  for (const QueueId child : state_.queues().children(q)) {
    const Entry* entry = first_below(child);
    if (entry == nullptr) continue;
    const QueueTree::Next next{child, entry->need, state_.job(entry->job).spec.preemptible};
    if (best != nullptr && state_.queues().compare(next, best_next) > 0) continue;
    best = entry;
    best_next = next;
  }
  return best;
}

std::optional<JobId> WaitingJobs::take() {
  const Entry* entry = first_below(QueueId());
  if (entry == nullptr) return std::nullopt;
  const JobId job = entry->job;
  by_queue_[state_.job(job).spec.queue.index()].pop_back();
  return job;
}

}  // namespace stint::sched
