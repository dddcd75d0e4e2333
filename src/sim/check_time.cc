#include "sim/check_time.h"

#include <fmt/format.h>

#include <algorithm>

namespace stint::sim {

CheckedTimes::CheckedTimes(const Workload& workload) : workload_(&workload), reports_(workload.jobs.size()) {}

WeekHours CheckedTimes::closed_hours(sched::QueueId queue) const {
  WeekHours closed;
  for (sched::QueueId q = queue; q.valid(); q = workload_->queues[q.index()].parent)
    closed |= workload_->queues[q.index()].closed;
  return closed;
}

bool CheckedTimes::is_closed(sched::QueueId queue, Instant now) const {
  // 1 January 1970 was a Thursday; weeks begin on Monday.
  const int64_t hours = now.seconds() / 3600 + int64_t{3} * 24;
  return closed_hours(queue)[static_cast<size_t>(hours % (7 * 24))];
}

bool CheckedTimes::ever_opens(sched::QueueId queue) const { return !closed_hours(queue).all(); }

void CheckedTimes::heard(sched::JobId trial, int32_t rung, int64_t loss_micro) {
  std::vector<Report>& known = reports_[trial.index()];
  if (std::ranges::find(known, rung, &Report::rung) == known.end()) known.push_back({rung, loss_micro, heard_++});
}

std::string CheckedTimes::problem_of_stopping(sched::JobId trial) const {
  const sched::StudyId study = workload_->jobs[trial.index()].spec.study;
  if (!study.valid()) return "is no trial";
  if (reports_[trial.index()].empty()) return "has reported nothing";
  const Report last = reports_[trial.index()].back();
  int64_t all = 0, better = 0;  // of those that had reported then
  for (size_t j = 0; j < reports_.size(); ++j) {
    if (workload_->jobs[j].spec.study != study) continue;
    const auto at = std::ranges::find(reports_[j], last.rung, &Report::rung);
    if (at == reports_[j].end() || at->number > last.number) continue;
    ++all;
    better += at->loss_micro < last.loss_micro || (at->loss_micro == last.loss_micro && j < trial.index()) ? 1 : 0;
  }
  const int64_t reduction = workload_->studies[study.index()].rules.reduction;
  if (all < reduction) return fmt::format("is stopped as {} of its study have reported, fewer than {}", all, reduction);
  if (better < all / reduction) return fmt::format("is stopped, but only {} of {} at its rung are better", better, all);
  return {};
}

}  // namespace stint::sim
