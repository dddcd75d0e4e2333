// How one job's work goes on: restart, useful work, a checkpoint every so often, the end. And what of it survives a stop.
//
// Work is counted exactly, in task-nanoseconds: one task working for one nanosecond. A job has run_time × tasks of it to do;
// n tasks do n per nanosecond. Checkpoints are taken after each `interval` of working time and stop work for `save`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "sim/workload.h"

namespace stint::sim {

__extension__ using TaskNanoseconds = __int128;

class JobProgress {
 public:
  enum class Phase : uint8_t { kIdle, kRestarting, kWorking, kSaving };
  enum class Change : uint8_t {
    kNone,      ///< another phase, nothing to tell anybody
    kSaved,     ///< a checkpoint is complete
    kRung,      ///< as a trial it has reached the next rung
    kFinished,  ///< all work is done; idle now
    kFailed,    ///< failed by itself; idle now, back at the last checkpoint
  };

  explicit JobProgress(const SimJob& job);
  /// A trial: where its rungs are, ascending, as parts of its run time: resources[i] of `most`.
  void set_rungs(std::span<const int64_t> resources, int64_t most);

  /// Idle → running with that many tasks; restarts first when it has run before.
  void start(Instant now, int32_t tasks);
  /// Goes on with another number of tasks. @param tasks  ≥ 1.
  void resize(Instant now, int32_t tasks);
  /// Work stops where it is. A checkpoint that was being saved is not complete.
  void stop(Instant now);
  /// All that has been done is safe. Idle only.
  void save() { saved_ = done_; }
  /// What was done since the last checkpoint is lost. Idle only.
  void fall_back();
  /// All that has been done is worth nothing: the job ends without success. Idle only.
  void throw_away();

  /// When the phase ends if nothing else happens; kNever when idle.
  [[nodiscard]] Instant next_change() const { return next_; }
  /// To be called at next_change().
  Change pass(Instant now);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] TaskNanoseconds total() const { return total_; }
  /// As of the last call.
  [[nodiscard]] TaskNanoseconds done() const { return done_; }
  [[nodiscard]] TaskNanoseconds saved() const { return saved_; }
  [[nodiscard]] TaskNanoseconds lost() const { return lost_; }
  /// Each counts once, however often work falls back behind it.
  [[nodiscard]] int32_t rungs_reached() const { return static_cast<int32_t>(next_rung_); }
  [[nodiscard]] int32_t failures() const { return failures_; }

 private:
  void work(Instant now);
  void accrue(Instant now);
  void plan();

  Duration interval_, save_time_, restart_time_;
  TaskNanoseconds total_ = 0, fails_at_ = 0;
  std::vector<TaskNanoseconds> rungs_;
  size_t next_rung_ = 0;
  int32_t failures_to_come_ = 0;
  int32_t failures_ = 0;
  bool ran_before_ = false;
  Phase phase_ = Phase::kIdle;
  int32_t tasks_ = 0;
  Instant accrued_to_, phase_ends_, save_at_, next_ = sched::kNever;
  TaskNanoseconds done_ = 0, saved_ = 0, lost_ = 0;
  TaskNanoseconds attempt_ = 0;  // since the last start
};

}  // namespace stint::sim
