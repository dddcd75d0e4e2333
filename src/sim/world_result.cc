// What the world has counted, as a ReplayResult.
#include <algorithm>

#include "sim/world.h"

namespace stint::sim {

void World::account_until(Instant t) {
  if (t <= now_) return;
  const double hours = (t - now_).to_hours();
  gpu_milli_hours_available_ += hours * static_cast<double>(gauge_.available_milli());
  gpu_milli_hours_held_ += hours * static_cast<double>(held_milli_);
  gpu_milli_hours_free_ += hours * static_cast<double>(gauge_.free_milli());
  gpu_milli_hours_unusable_ += hours * gauge_.unusable_milli();
  if (timeline_.wants(now_)) {
    meter_.read_all(now_);
    timeline_.add(point());
  }
  now_ = t;
}

void World::pass_mark() {
  meter_.read_all(now_);
  result_.paid_at_marks.push_back(meter_.total());
  ++next_mark_;
}

TimelinePoint World::point() const { return {now_, gauge_.available_milli(), held_milli_, waiting_, running_, meter_.total()}; }

ReplayResult World::finish() {
  result_.period = {std::min(begin_, now_), now_};
  meter_.read_all(now_);
  for (uint32_t i = 0; i < jobs_.size(); ++i) {
    const sched::JobId id(i);
    Job& job = jobs_[i];
    JobOutcome& outcome = result_.jobs[i];
    if (job.state == State::kWaiting) outcome.ending = JobEnding::kWaiting;
    if (!job.held.empty()) {
      outcome.ending = JobEnding::kRunning;
      if (job.progress.phase() != JobProgress::Phase::kIdle) job.progress.stop(now_);
      release_all(id);
    }
    ++result_.endings[static_cast<size_t>(outcome.ending)];
    const double gpus_per_task = static_cast<double>(job.gpu_milli) / sched::kMilli / workload_->jobs[i].spec.tasks;
    const auto gpu_hours = [&](TaskNanoseconds work) { return static_cast<double>(work) / 3.6e12 * gpus_per_task; };
    outcome.gpu_hours_lost = gpu_hours(job.progress.lost());
    outcome.cost = meter_.of_job(id);
    result_.gpu_hours.useful += gpu_hours(job.progress.done());
    result_.gpu_hours.lost += outcome.gpu_hours_lost;
  }
  close(result_);
  result_.timeline = timeline_.take(point());
  std::ranges::stable_sort(result_.occupancy, {}, [](const Occupancy& o) { return o.when.begin; });
  result_.money = {meter_.total(), meter_.jobs(), meter_.idle()};
  mix(static_cast<uint64_t>(result_.money.total.count_nanos()));
  result_.fingerprint = fingerprint_;
  return std::move(result_);
}

void World::close(ReplayResult& result) {
  std::vector<Duration> waiting, completion;
  std::array<std::vector<Duration>, kSizeClasses> waiting_by, completion_by;
  Instant last_end = begin_;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const sched::JobSpec& spec = workload_->jobs[i].spec;
    const JobOutcome& outcome = result.jobs[i];
    const auto size = static_cast<size_t>(size_class_of(jobs_[i].gpu_milli));
    if (outcome.starts > 0) {
      const Duration wait = outcome.first_start - std::max(spec.submitted, spec.not_before);
      waiting.push_back(wait);
      waiting_by[size].push_back(wait);
    }
    const bool succeeded = outcome.ending == JobEnding::kSucceeded || outcome.ending == JobEnding::kMadeAlready;
    if (succeeded) {
      completion.push_back(outcome.ended - spec.submitted);
      completion_by[size].push_back(outcome.ended - spec.submitted);
    }
    const bool ended = outcome.ending < JobEnding::kWaiting;
    if (ended) last_end = std::max(last_end, outcome.ended);
    if (spec.deadline != sched::kNever && (ended || spec.deadline < now_)) {
      ++result.deadlines;
      if (!succeeded || outcome.ended > spec.deadline) ++result.deadlines_missed;
    }
  }
  result.waiting = spread_of(waiting);
  result.completion = spread_of(completion);
  for (size_t s = 0; s < kSizeClasses; ++s) {
    result.waiting_by_size[s] = spread_of(waiting_by[s]);
    result.completion_by_size[s] = spread_of(completion_by[s]);
  }
  const Instant first = submissions_of(*workload_).begin;
  result.makespan = last_end > first ? last_end - first : Duration();
  GpuHours& hours = result.gpu_hours;
  hours.available = gpu_milli_hours_available_ / sched::kMilli;
  hours.held = gpu_milli_hours_held_ / sched::kMilli;
  hours.overhead = std::max(0.0, hours.held - hours.useful - hours.lost);
  if (hours.available > 0) {
    result.allocation_pct = 100 * hours.held / hours.available;
    result.utilization_pct = 100 * hours.useful / hours.available;
  }
  if (gpu_milli_hours_free_ > 0) result.fragmentation_pct = 100 * gpu_milli_hours_unusable_ / gpu_milli_hours_free_;
}

}  // namespace stint::sim
