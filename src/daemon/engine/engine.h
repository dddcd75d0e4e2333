// The engine: commands and reports in, durable records of them, and what the scheduler decides on them carried out.
//
//   stage_…()  checks a command against the state and puts it into the next step
//   commit()   makes the step durable, then applies it: scheduler → decisions → backend. An error: nothing has changed
//
// State is a pure function of the records: times are in them, and every wake-up of the scheduler is one. So recovery is
// reading them again, from the newest snapshot of the state on. Jobs that have ended stay in memory until enough others have
// ended after them; then they are rows of the log, and views read them there. After recovery the backend is told every launch
// that should be there, which it starts only if it never has, and to stop what is in no record. Nothing here knows a clock or a
// thread: one thread owns the engine and says what time it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"
#include "daemon/api/job_request.h"
#include "daemon/engine/pipeline.h"
#include "daemon/engine/views.h"
#include "daemon/fleet_config.h"
#include "sched/explanation.h"
#include "sim/run_durations.h"
#include "store/event_log.h"

namespace stint::sched {
struct Event;
struct Decision;
}  // namespace stint::sched

namespace stint {

struct AdmissionRefusal;

/// Who asks, and how a repeated question is known.
struct CommandInfo {
  std::string actor;            ///< user or token, for the audit log; may be empty inside tests
  std::string idempotency_key;  ///< empty = none: asked twice is done twice
  /// Where it is told what kept a job out (daemon/engine/admission.h); before the answer. null = not asked.
  std::shared_ptr<AdmissionRefusal> refusal = {};
};

/// Sees every step after it is durable and before it is carried out, replayed ones included.
using StepWatcher =
    std::function<void(Instant now, std::span<const sched::Event> events, std::span<const sched::Decision> decisions)>;

struct EngineOptions {
  StepWatcher watcher;
  int64_t steps_between_marks = 10'000;
  int64_t records_between_snapshots = 20'000;
  int64_t ended_kept = 10'000;  ///< jobs that have ended and are kept in memory; a fifth more before they leave it
  size_t events_kept = 30'000;  ///< for events_since(): about as far back as the jobs that are kept
  /// Added to what a task finds in its environment; empty = nothing.
  std::function<std::vector<std::pair<std::string, std::string>>(const LaunchKey&)> launch_environment = {};
  bool carry_out = true;  ///< false: decisions are made and shown to the watcher, no backend is told
};

/// What reading the log again took.
struct Recovery {
  int64_t snapshot_step = 0;  ///< the state as of then was read; 0 = there was none
  int64_t bad_snapshots = 0;  ///< passed over: not to be read, or not what was noted with them
  int64_t steps = 0;          ///< read after that
  int64_t records = 0;
  int64_t marks_checked = 0;  ///< fingerprints compared
  int64_t launches_repeated = 0;
  int64_t strangers_stopped = 0;  ///< ran and were not in the records
};

/// What is done to all jobs of an array.
enum class JobControl : uint8_t { kCancel, kHold, kRelease };

class Engine {
 public:
  /// Reads the log, compares fingerprints at its marks, takes over `fleet` as it is now, and reconciles with the backend.
  /// @param log, backend  outlive the engine. @param now  not used where the log is later.
  /// @return error when the log cannot be read, contradicts itself, or `fleet` cannot follow what the log has.
  static Result<Engine> open(EventLog& log, Backend& backend, const FleetConfig& fleet, const EngineOptions& options,
                             Instant now);
  /// The same in two: reads a log that another daemon writes, and …
  static Result<Engine> follow(EventLog& log, const EngineOptions& options);
  /// … on, as far as the log knows itself to go, while it follows; nothing else may be asked of it then …
  Status read_on();
  /// … until it is this one's turn to write. What was staged before becomes durable first.
  Status take_over(const FleetConfig& fleet, Backend& backend, Instant now);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  // Commands. What they answer holds once commit() has succeeded. Errors: kInvalidInput, kNotFound (no such job, queue or
  // node), kConflict (has ended, or the key was used for something else), kUnavailable (read-only).

  /// @return the id of the job, or of the first of its array (they follow each other); of the earlier one when its
  /// idempotency key was used before for the same request.
  Result<int64_t> stage_submit(const JobRequest& request, const CommandInfo& by);
  Status stage_cancel(int64_t job, const CommandInfo& by);
  /// Keeps it from starting until it is released; one that runs goes on, and does not start again.
  Status stage_hold(int64_t job, const CommandInfo& by);
  Status stage_release(int64_t job, const CommandInfo& by);
  /// The same for all jobs of an array (by its first) that have not ended, in one step. @return their places in it. @return
  /// kConflict: all have ended.
  Result<std::vector<int32_t>> stage_array(JobControl what, int64_t first, const CommandInfo& by);
  /// Takes no new task; what runs there goes on.
  Status stage_drain(std::string_view node, const CommandInfo& by);
  /// Takes tasks again, after a drain or when it was down.
  Status stage_up(std::string_view node, const CommandInfo& by);
  /// It is gone: its tasks are lost.
  Status stage_down(std::string_view node, const CommandInfo& by);
  /// Some of its GPUs do not answer (`failure` says what they do), or all of them do again (empty). Of a machine that is not known:
  /// nothing.
  void stage_health(std::string_view node, std::string failure);
  /// What became of a machine that is not the backend's, but made by a Capacity.
  void stage_machine(MachineReport report);
  /// All machines with tasks are lost: the daemon before this one ran them where this one cannot reach them. Before take_over().
  void stage_lost_machines(const std::string& why);
  /// Those are there although the backend does not name them. Before take_over().
  void keep_machines(std::set<std::string> names);
  /// Machines, queues and prices as they are from now on. Machines that are no longer named are drained.
  Status stage_fleet(const FleetConfig& fleet, const CommandInfo& by);
  /// Jobs that wait for each other, all or none. @return the id of each stage (the first of its array).
  Result<std::vector<int64_t>> stage_pipeline(const std::vector<PipelineStage>& stages, const CommandInfo& by);
  /// A job that needs approval may run, or ends as refused. With an array's first job, all of the array.
  Status stage_approve(int64_t job, const CommandInfo& by);
  Status stage_refuse(int64_t job, std::string reason, const CommandInfo& by);
  /// A budget in place of the one with its name, which the configuration must not have. Its currency is the machines'.
  Status stage_budget(const BudgetRule& rule, const CommandInfo& by);
  Status stage_remove_budget(std::string_view name, const CommandInfo& by);
  /// A row for a side stream (EventLog), durable with this step.
  void stage_side_row(SideRow row);
  /// Rows of that stream that were there before this step go with it.
  void stage_side_renewal(std::string stream);
  /// Something for events_since() that changes nothing else; its numbers and time are given by the step. Where it is about a job,
  /// `job_number` and `queue` say about which.
  void stage_notice(EventView notice);

  // What happened.
  void stage_report(const Report& report);
  /// Asks the backend what happened and stages that; orders it could not follow before are given again.
  void poll_backend(Instant now);
  /// A job has saved its work: less is lost when it is stopped.
  Status stage_checkpoint(int64_t job, const CommandInfo& by = {});

  /// A trial has reached a rung of its study; what it says again of a rung, or of one it has passed, is taken and changes nothing.
  /// @param loss_micro  in millionths, smaller is better. @return kConflict: it is no trial, or does not run.
  Status stage_trial(int64_t job, int32_t rung, int64_t loss_micro, const CommandInfo& by = {});

  /// How long jobs ran elsewhere, or before this log began. Taken once: what has learnt already, from ends or so, takes no more.
  /// @return how many of them are taken, the last to end at most kMostLearnt.
  Result<int64_t> stage_learn(std::vector<sim::RunLength> lengths, const CommandInfo& by = {});
  static constexpr size_t kMostLearnt = 50'000;

  [[nodiscard]] bool has_staged() const;
  /// Makes what is staged durable and lets everything follow from it; with nothing staged, time alone passes.
  /// @param now  an earlier instant than the last step's counts as that.
  /// @return error: none of what was staged has happened; see read_only().
  Status commit(Instant now);
  /// When commit() should be called although nothing is staged; sched::kNever = nothing is waiting for time alone.
  [[nodiscard]] Instant next_wakeup() const;

  /// Why nothing can be made durable; none = all is well.
  [[nodiscard]] const std::optional<std::string>& read_only() const;
  /// Looks whether the log can be written again.
  Status try_to_write();
  /// Notes the state reached, whole and as a fingerprint: the next recovery begins there. commit() does so by itself now and then.
  Status mark();
  /// commit() has begun to write down the state: each further one writes a part of it, as does write_snapshot_part().
  [[nodiscard]] bool writes_snapshot() const;
  Status write_snapshot_part();

  /// What views count what runs up to, from here on: its cost, its GPU time, what budgets have left. Changes nothing else, and the log
  /// knows nothing of it. @param now  an earlier instant than the last step's counts as that.
  void look(Instant now);

  // Views. As of the last step; what runs has cost, and held, until now().
  [[nodiscard]] std::optional<JobView> job(int64_t id) const;
  /// The array with that first job as a whole. none: that job begins no array.
  [[nodiscard]] std::optional<JobView> array(int64_t first) const;
  /// Of an array the job that is next: it explains what the others wait for as well. none: none of them waits.
  [[nodiscard]] std::optional<JobView> next_of_array(int64_t first) const;
  /// The array that a job is of.
  [[nodiscard]] std::optional<JobView> array_with(int64_t job) const;
  /// The id of a job that is called so; an array's id is that of its first. none: no job has that number (or the one that has is another client's).
  [[nodiscard]] std::optional<int64_t> find_job(const PublicId& name) const;
  /// Newest first, behind id `before` where it is given; at most `limit`.
  [[nodiscard]] JobPage jobs(const JobFilter& filter, std::optional<int64_t> before, size_t limit) const;
  [[nodiscard]] std::optional<JobRequest> request_of(int64_t id) const;
  [[nodiscard]] std::vector<NodeView> nodes() const;
  [[nodiscard]] std::vector<QueueView> queues() const;
  [[nodiscard]] EngineView overview() const;
  /// Whether a job holds GPUs or is leaving them: what it costs and when it ends is measured.
  [[nodiscard]] bool runs_jobs() const;
  /// Thousandths of GPUs asked for by jobs that room is all they wait for.
  [[nodiscard]] int64_t waiting_gpu_milli() const;
  /// Those of the configuration first.
  [[nodiscard]] std::vector<BudgetView> budgets() const;
  /// Jobs that wait for approval, oldest first; of an array the first stands for all.
  [[nodiscard]] std::vector<JobView> approvals() const;
  /// O(cluster). none: no such job. Ids in it are the scheduler's: id_of() makes them the daemon's.
  [[nodiscard]] std::optional<sched::Explanation> explain(int64_t id) const;
  /// The daemon counts jobs from 1 on and never anew; the scheduler counts those in memory.
  [[nodiscard]] int64_t id_of(sched::JobId job) const;
  /// The same in words, a line each, and as JSON (report/waiting_text.h). Other jobs are named by their ids.
  /// @param may_name  of the jobs in it, which may be named; empty = all.
  using MayName = std::function<bool(int64_t)>;
  [[nodiscard]] std::optional<std::string> why(int64_t id, const MayName& may_name = {}) const;
  [[nodiscard]] std::optional<std::string> why_json(int64_t id, const MayName& may_name = {}) const;
  /// Launches that ran after `from`, by start; of a job the last kEndsKept that ended. O(jobs) in memory: those that have left
  /// it are not in it, which is so of some that ended by runs_complete_from().
  /// @param may_see  of the jobs' clients, whose to show.
  [[nodiscard]] std::vector<RunView> runs(Instant from, const std::function<bool(std::string_view client)>& may_see) const;
  /// Of these clients; none: all are in it.
  [[nodiscard]] std::optional<Instant> runs_complete_from(const std::function<bool(std::string_view client)>& may_see) const;
  /// Events behind `number`, oldest first; those too old to be kept are left out.
  [[nodiscard]] std::vector<EventView> events_since(int64_t number, size_t limit) const;
  [[nodiscard]] int64_t last_event() const;
  /// Number of the event of that public id; of one too old to be kept: of the oldest kept, less one. none: there is none.
  [[nodiscard]] std::optional<int64_t> find_event(std::string_view public_id) const;

  /// Of the views: of look(), or of the last step where that is later.
  [[nodiscard]] Instant now() const;
  [[nodiscard]] uint64_t fingerprint() const;
  [[nodiscard]] const Recovery& recovery() const;
  /// Jobs in memory: all that have not ended, and the last that have.
  [[nodiscard]] size_t jobs_in_memory() const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
