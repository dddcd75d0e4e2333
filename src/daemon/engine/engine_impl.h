// The engine's state, shared by its parts: engine.cc (recovery, the step), engine_commands.cc (what may come in),
// engine_apply.cc (records → events → decisions → books), engine_govern.cc (budgets and approvals), engine_machines.cc (machines
// that come and go), engine_orders.cc (what the backend is told), engine_snapshot.cc and engine_forget.cc (what keeps recovery short and memory flat), engine_views.cc.
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

#include "daemon/engine/engine.h"
#include "daemon/engine/engine_books.h"
#include "daemon/engine/fleet_machines.h"
#include "daemon/engine/job_asks.h"
#include "daemon/engine/launches.h"
#include "daemon/engine/machine_reports.h"
#include "daemon/engine/order_desk.h"
#include "daemon/engine/record.h"
#include "daemon/engine/record_quota.h"
#include "report/waiting_text.h"
#include "sched/scheduler.h"

namespace stint {

/// Name of the side stream of a client whose row n is the id of its n-th job since clients have their own counts: this and the
/// client's name.
inline const std::string kNumberStream = "jobs of ";

/// Who submits cannot say that it is one.
Status check_no_others_job(const JobRequest& request);

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

  // engine_commands.cc
  [[nodiscard]] Status check_writable() const;
  [[nodiscard]] Status check_neighbours(const JobRequest& request) const;
  [[nodiscard]] Status check_taken(const JobRequest& request) const;
  [[nodiscard]] Result<const JobBook*> find_job(int64_t id) const;
  Status count_command(RecordKind kind, const JobBook& job, const CommandInfo& by);
  Status stage_for_job(RecordKind kind, int64_t job, const CommandInfo& by);
  Status stage_for_node(RecordKind kind, std::string_view node, const CommandInfo& by);
  Result<int64_t> answered(const std::string& key, const std::string& digest);
  Result<int64_t> stage_request(const JobRequest& request, const CommandInfo& by);
  Result<int64_t> stage_unasked(const JobRequest& request, const CommandInfo& by);
  int64_t put_submit(const JobRequest& request, const CommandInfo& by, std::string needs_approval);
  Status check_submit(const JobRequest& request) const;
  [[nodiscard]] Result<FleetConfig> in_known_order(FleetConfig next) const;
  [[nodiscard]] Result<FleetConfig> as_recorded(const FleetConfig& next) const;
  [[nodiscard]] std::vector<std::string> queues_beside(std::string_view queue) const;
  [[nodiscard]] Status check_study(const JobRequest& request) const;
  Status check_fleet(const FleetConfig& next) const;

  // engine_apply.cc
  Status apply(const Record& record);
  Status apply_fleet(const std::string& json);
  Status apply_submit(const Record& record);
  sched::StudyId study_of(std::string_view client, const JobRequest& request);

  // engine_others.cc
  void hear_of_others(const OthersJob& job);
  void miss_others(const OthersThere& there);
  void take_in(const OthersJob& job);
  void stage_adoption(int64_t id, std::vector<std::string> machines);
  void apply_adoption(sched::JobId id, const std::vector<std::string>& machines);
  void index_others();

  // engine_govern.cc
  void decide_approval(const Record& record);
  Status stage_decision(RecordKind kind, int64_t job, std::string reason, const CommandInfo& by);

  [[nodiscard]] Currency currency() const { return fleet.currency; }
  [[nodiscard]] WaitingNames names(const MayName& may_name, int64_t subject) const;  ///< engine_views.cc

  // engine_orders.cc
  void hear_of_launch(const LaunchNote& launch);
  [[nodiscard]] std::string text_of_hindrances(sched::JobId id) const;
  [[nodiscard]] const PlacedTask* find_placed(const LaunchKey& key) const { return stint::find_placed(jobs, key); }
  [[nodiscard]] bool concerns_us(const Report& report) const;
  void carry_out(Instant at);
  void reconcile(Instant at);
  void hear(Instant at);
  void take_stock(Instant at);
  void compare(Instant at);
  void take_refusal(const Refusal& refusal, Instant at);
  void poll(Instant at);
  void stage_report(const Report& report);

  [[nodiscard]] JobBook& book(sched::JobId id) { return jobs[id.index()]; }
  [[nodiscard]] int64_t id_of(sched::JobId id) const { return jobs[id.index()].id; }
  /// The number that the next job of a client gets, those staged apart.
  [[nodiscard]] int64_t next_number(std::string_view client) const;
  /// As users call it, whether it is in memory or not.
  [[nodiscard]] std::string public_id_of(int64_t id) const;
  void add_forgotten(int64_t first, int32_t size, ArraySum& sum) const;
  mutable std::map<int64_t, ForgottenJobs> forgotten_of_arrays;  ///< of those that were looked at; no part of the state
  /// The id of the job with that number of the client's.
  [[nodiscard]] std::optional<int64_t> find_number(const std::string& client, int64_t number) const;
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

  // Of the step being put together.
  std::vector<Record> staged;
  std::map<std::string, LogKey, std::less<>> staged_keys;  ///< by key
  std::vector<SideRow> staged_rows;
  std::vector<std::string> staged_renewals;
  uint32_t staged_jobs = 0;
  std::map<std::string, int64_t, std::less<>> staged_numbers;  ///< by client: jobs in it

  RecordQuota log_quota;  ///< no part of the state

  // Towards the backend.
  OrderDesk desk;
  std::map<LaunchKey, std::string> hindered;                      ///< what keeps launches that were ordered from beginning
  bool reconciled = false;                                        ///< what ran at the start is known: jobs may be started
  Instant compared_at;                                            ///< what runs with what should
  std::map<std::string, int64_t, std::less<>> others;             ///< jobs of others by what their cluster calls them
  std::map<std::string, OthersJob, std::less<>> kept_out;         ///< of those: refused, or not found room for; asked for again
  std::map<std::string, std::string, std::less<>> told_kept_out;  ///< why, last; as long as its cluster has it and it is kept out
  std::vector<OthersJob> others_heard;                            ///< to be looked at
  std::optional<OthersThere> others_there;                        ///< likewise
  std::vector<std::string> dismissed;                             ///< of those: have ended here and wait there
  std::vector<LaunchKey> strangers;  ///< run, are in no record, and were told to stop: nothing starts before they are gone
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
