// The engine: commands and reports in, durable records of them, and what the scheduler decides on them carried out.
//
//   stage_…()  checks a command against the state and puts it into the next step
//   commit()   makes the step durable, then applies it: scheduler → decisions → backend. An error: nothing has changed
//
// State is a pure function of the records: times are in them, and every wake-up of the scheduler is one. So recovery is
// reading them again; then the backend is told every launch that should be there, which it starts only if it never has,
// and to stop what nobody knows. Nothing here knows a clock or a thread: one thread owns the engine and says what time it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"
#include "daemon/fleet_config.h"
#include "daemon/job_request.h"
#include "daemon/views.h"
#include "sched/explanation.h"
#include "store/event_log.h"

namespace stint::sched {
struct Event;
struct Decision;
}  // namespace stint::sched

namespace stint {

/// Who asks, and how a repeated question is known.
struct CommandInfo {
  std::string actor;            ///< user or token, for the audit log; may be empty inside tests
  std::string idempotency_key;  ///< empty = none: asked twice is done twice
};

/// Sees every step after it is durable and before it is carried out, replayed ones included.
using StepWatcher =
    std::function<void(Instant now, std::span<const sched::Event> events, std::span<const sched::Decision> decisions)>;

struct EngineOptions {
  StepWatcher watcher;
  int64_t steps_between_marks = 10'000;
  size_t events_kept = 100'000;  ///< for events_since()
  bool carry_out = true;         ///< false: decisions are made and shown to the watcher, no backend is told
};

/// What reading the log again took.
struct Recovery {
  int64_t steps = 0;
  int64_t records = 0;
  int64_t marks_checked = 0;  ///< fingerprints compared
  int64_t launches_repeated = 0;
  int64_t strangers_stopped = 0;  ///< ran and nobody knew them
};

class Engine {
 public:
  /// Reads the log, compares fingerprints at its marks, takes over `fleet` as it is now, and reconciles with the backend.
  /// @param log, backend  outlive the engine. @param now  not used where the log is later.
  /// @return error when the log cannot be read, contradicts itself, or `fleet` cannot follow what the log has.
  static Result<Engine> open(EventLog& log, Backend& backend, const FleetConfig& fleet, const EngineOptions& options,
                             Instant now);
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
  /// Takes no new task; what runs there goes on.
  Status stage_drain(std::string_view node, const CommandInfo& by);
  /// Takes tasks again, after a drain or when it was down.
  Status stage_up(std::string_view node, const CommandInfo& by);
  /// It is gone: its tasks are lost.
  Status stage_down(std::string_view node, const CommandInfo& by);
  /// Machines, queues and prices as they are from now on. Machines that are no longer named are drained.
  Status stage_fleet(const FleetConfig& fleet, const CommandInfo& by);
  /// A row for a side stream (EventLog), durable with this step.
  void stage_side_row(SideRow row);

  // What happened.
  void stage_report(const Report& report);
  /// Asks the backend what happened and stages that; orders it could not follow before are given again.
  void poll_backend(Instant now);
  /// A job has saved its work: less is lost when it is stopped.
  Status stage_checkpoint(int64_t job);

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
  /// Notes the state reached, so that the next recovery can compare.
  Status mark();

  // Views. As of the last step; costs and held time up to `now` of it.
  [[nodiscard]] std::optional<JobView> job(int64_t id) const;
  /// Newest first, behind id `before` where it is given; at most `limit`.
  [[nodiscard]] JobPage jobs(const JobFilter& filter, std::optional<int64_t> before, size_t limit) const;
  [[nodiscard]] std::optional<JobRequest> request_of(int64_t id) const;
  [[nodiscard]] std::vector<NodeView> nodes() const;
  [[nodiscard]] std::vector<QueueView> queues() const;
  [[nodiscard]] EngineView overview() const;
  /// O(cluster). none: no such job. Ids in it are the scheduler's: job_id_of() makes them the daemon's.
  [[nodiscard]] std::optional<sched::Explanation> explain(int64_t id) const;
  /// The same in words, a line each, and as JSON (report/waiting_text.h). Other jobs are named by their ids.
  /// @param may_name  of the jobs in it, which may be named; empty = all.
  using MayName = std::function<bool(int64_t)>;
  [[nodiscard]] std::optional<std::string> why(int64_t id, const MayName& may_name = {}) const;
  [[nodiscard]] std::optional<std::string> why_json(int64_t id, const MayName& may_name = {}) const;
  /// Events behind `number`, oldest first; those too old to be kept are left out.
  [[nodiscard]] std::vector<EventView> events_since(int64_t number, size_t limit) const;
  [[nodiscard]] int64_t last_event() const;

  [[nodiscard]] Instant now() const;
  [[nodiscard]] uint64_t fingerprint() const;
  [[nodiscard]] const Recovery& recovery() const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The daemon counts jobs from 1, the scheduler from 0.
inline int64_t job_id_of(sched::JobId job) { return int64_t{job.index()} + 1; }

}  // namespace stint
