#include "sim/job_progress.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sim {
namespace {

// Saturates: "never" plus anything is never.
Instant later_by(Instant t, Duration d) {
  return d == sched::kUnlimited || t.ns() > INT64_MAX - d.count_ns() ? sched::kNever : t + d;
}

}  // namespace

JobProgress::JobProgress(const SimJob& job)
    : interval_(job.spec.checkpoint.interval),
      save_time_(job.spec.checkpoint.save),
      restart_time_(job.spec.checkpoint.restart),
      total_(TaskNanoseconds{job.run_time.count_ns()} * job.spec.tasks),
      fails_at_(TaskNanoseconds{job.fails_after.count_ns()} * job.spec.tasks),
      failures_to_come_(job.failures) {}

void JobProgress::set_rungs(std::span<const int64_t> resources, int64_t most) {
  for (const int64_t resource : resources)
    if (resource < most) rungs_.push_back(total_ * resource / most);
}

void JobProgress::start(Instant now, int32_t tasks) {
  CHECK(phase_ == Phase::kIdle && tasks >= 1, "start with {} tasks in phase {}", tasks, static_cast<int>(phase_));
  tasks_ = tasks;
  attempt_ = 0;
  if (ran_before_ && restart_time_ > Duration()) {
    phase_ = Phase::kRestarting;
    phase_ends_ = now + restart_time_;
  } else {
    work(now);
  }
  ran_before_ = true;
  accrued_to_ = now;
  plan();
}

void JobProgress::work(Instant now) {
  phase_ = Phase::kWorking;
  accrued_to_ = now;
  save_at_ = later_by(now, interval_);
}

void JobProgress::accrue(Instant now) {
  if (phase_ == Phase::kWorking) {
    const TaskNanoseconds more = std::min(TaskNanoseconds{(now - accrued_to_).count_ns()} * tasks_, total_ - done_);
    done_ += more;
    attempt_ += more;
  }
  accrued_to_ = now;
}

void JobProgress::plan() {
  if (phase_ != Phase::kWorking) {
    next_ = phase_ == Phase::kIdle ? sched::kNever : phase_ends_;
    return;
  }
  TaskNanoseconds left = total_ - done_;
  if (failures_to_come_ > 0) left = std::min(left, std::max<TaskNanoseconds>(fails_at_ - attempt_, 0));
  if (next_rung_ < rungs_.size()) left = std::min(left, std::max<TaskNanoseconds>(rungs_[next_rung_] - done_, 0));
  const TaskNanoseconds wall = (left + tasks_ - 1) / tasks_;
  const Instant ends =
      wall > INT64_MAX ? sched::kNever : later_by(accrued_to_, Duration::nanoseconds(static_cast<int64_t>(wall)));
  next_ = std::min(ends, save_at_);
}

void JobProgress::resize(Instant now, int32_t tasks) {
  CHECK(phase_ != Phase::kIdle && tasks >= 1, "resize to {} tasks", tasks);
  accrue(now);
  tasks_ = tasks;
  plan();
}

void JobProgress::stop(Instant now) {
  accrue(now);
  phase_ = Phase::kIdle;
  plan();
}

void JobProgress::fall_back() {
  CHECK(phase_ == Phase::kIdle, "falls back while running");
  lost_ += done_ - saved_;
  done_ = saved_;
}

void JobProgress::throw_away() {
  CHECK(phase_ == Phase::kIdle, "thrown away while running");
  lost_ += done_;
  done_ = saved_ = 0;
}

JobProgress::Change JobProgress::pass(Instant now) {
  CHECK(now == next_, "the phase ends at {} ns, not at {} ns", next_.ns(), now.ns());
  accrue(now);
  Change change = Change::kNone;
  if (phase_ == Phase::kRestarting) {
    work(now);
  } else if (phase_ == Phase::kSaving) {
    saved_ = done_;
    change = Change::kSaved;
    work(now);
  } else if (done_ == total_) {
    phase_ = Phase::kIdle;
    saved_ = done_;
    change = Change::kFinished;
  } else if (next_rung_ < rungs_.size() && done_ >= rungs_[next_rung_]) {
    ++next_rung_;
    change = Change::kRung;
  } else if (failures_to_come_ > 0 && attempt_ >= fails_at_) {
    phase_ = Phase::kIdle;
    --failures_to_come_;
    ++failures_;
    fall_back();
    change = Change::kFailed;
  } else {
    phase_ = Phase::kSaving;
    phase_ends_ = now + save_time_;
  }
  plan();
  return change;
}

}  // namespace stint::sim
