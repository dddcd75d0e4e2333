// The engine's state, shared by its parts: engine.cc (recovery, the step), engine_commands.cc (what is asked for from outside),
// engine_apply.cc (records → events → decisions → books), engine_govern.cc (budgets and approvals), engine_machines.cc (machines
// that come and go), engine_snapshot.cc and engine_forget.cc (what keeps recovery short and memory flat), engine_views.cc.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/engine/commands.h"
#include "daemon/engine/dispatch.h"
#include "daemon/engine/fleet_machines.h"
#include "report/waiting_text.h"
#include "sched/scheduler.h"

namespace stint {

struct Engine::Impl : EngineBooks {
  Impl(EventLog& event_log, EngineOptions engine_options);

  // engine.cc
  Status recover();
  Status catch_up();
  Status append(Instant at);
  Status apply_step(Instant at, std::vector<Record>& records);
  Status housekeep(Instant at);
  Status mark();
  Status note_state(Status written);

  // engine_snapshot.cc
  [[nodiscard]] std::string save() const;
  bool load(std::string_view saved);
  void begin_snapshot();
  Status put_snapshot_part();
  static Result<std::unique_ptr<Impl>> from_snapshot(EventLog& log, const EngineOptions& options, int64_t& bad);

  // engine_forget.cc
  [[nodiscard]] std::vector<bool> who_leaves(int64_t keep) const;
  [[nodiscard]] bool may_still_be_decided(const JobBook& job) const;
  [[nodiscard]] std::vector<EndedJob> ended_jobs_of(const std::vector<Record>& records) const;
  void forget(int64_t keep);
  [[nodiscard]] std::optional<JobView> view_of(const EndedJob& ended) const;

  // engine_apply.cc
  Status apply(const Record& record);
  Status apply_fleet(const std::string& json);
  Status apply_submit(const Record& record);
  sched::StudyId study_of(std::string_view client, const JobRequest& request);

  // engine_govern.cc
  void decide_approval(const Record& record);
  Status stage_decision(RecordKind kind, int64_t job, std::string reason, const CommandInfo& by);

  [[nodiscard]] Currency currency() const { return fleet.currency; }
  [[nodiscard]] WaitingNames names(const MayName& may_name, int64_t subject) const;  ///< engine_views.cc

  void poll(Instant at);  ///< engine.cc

  [[nodiscard]] JobBook& book(sched::JobId id) { return jobs[id.index()]; }
  [[nodiscard]] int64_t id_of(sched::JobId id) const { return jobs[id.index()].id; }
  void add_forgotten(int64_t first, int32_t size, ArraySum& sum) const;
  mutable std::map<int64_t, ForgottenJobs> forgotten_of_arrays;  ///< of those that were looked at; no part of the state
  /// Not valid: never accepted, or no longer in memory.
  [[nodiscard]] sched::JobId find(int64_t id) const { return stint::find_job(jobs, id); }
  [[nodiscard]] JobView view_of(const JobBook& job) const;  ///< engine_views.cc; what it costs and holds as of its last end
  /// Which jobs it waited for in vain, and what became of them; empty = none is known.
  [[nodiscard]] std::string failed_dependency_of(const JobBook& job) const;  ///< engine_views.cc
  [[nodiscard]] const std::string& queue_name(sched::QueueId q) const { return fleet.queues[q.index()].name; }
  [[nodiscard]] const std::string& client_of(sched::QueueId q) const { return stint::client_of(fleet, q); }
  [[nodiscard]] LaunchKey key_of(sched::JobId id, const PlacedTask& placed) const {
    return stint::key_of(jobs[id.index()], placed);
  }

  EventLog& log;
  Backend* backend = nullptr;  ///< none while it follows
  EngineOptions options;
  JsonParser parser;
  Recovery recovery;
  bool live = false;  ///< past recovery: orders are carried out

  Instant looked_at;  ///< see look()
  [[nodiscard]] Instant shown_at() const { return std::max(now, looked_at); }

  // Of the step being applied.
  std::vector<sched::Event> events;
  std::vector<sched::JobId> touched;

  StagedStep staged;                   ///< the step being put together
  OrderDesk desk;                      ///< towards the backend
  std::vector<std::string> dismissed;  ///< jobs of others that have ended here and wait in their cluster

  // What acts on the books: each sees what its view names.
  EventTrail trail;
  FleetPrices prices;
  SpendAccounts spend_accounts;
  RunCosts costs;
  Governance governance;
  JobAsks asks;
  JobRuns job_runs;
  FleetMachines fleet_machines;
  MachineReports machine_reports;
  Launches launches;
  JobNames names_of;
  Commands commands;
  OthersJobs others;
  Dispatch dispatch;

  std::optional<std::string> read_only;
  int64_t marked_at = 0;
  int64_t could_not_leave = 0;  ///< jobs beyond those to be kept, when last some were forgotten
  int64_t snapshot_at = 0;      ///< sequence of the last record in the newest snapshot
  /// The state as it was, being written part by part between steps.
  struct GrowingSnapshot {
    LogSnapshot snapshot;
    size_t written = 0;
  };
  std::optional<GrowingSnapshot> growing;
  size_t saved_bytes = 0;  ///< of the last one
};

}  // namespace stint
