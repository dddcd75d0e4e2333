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

#include "daemon/engine/admission.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/order_desk.h"
#include "daemon/engine/record.h"
#include "daemon/engine/record_quota.h"
#include "report/waiting_text.h"
#include "sched/scheduler.h"

namespace stint {

/// A job whose tasks got lost more often than this fails by that.
inline constexpr int32_t kMostLosses = 5;

/// A task on a node.
struct PlacedTask {
  int32_t task = 0;
  int32_t attempt = 0;
  sched::Place place;
  Instant started;
  Instant metered_from;  ///< paid for until then
  bool leaving = false;  ///< told to
  bool ended = false;    ///< its process has; its room is given back with the whole job
  bool failed = false;   ///< how it ended
};

struct JobBook {
  int64_t id = 0;
  int64_t number = 0;                         ///< within its client
  std::shared_ptr<const JobRequest> request;  ///< one for all jobs of an array
  sched::QueueId queue;
  JobState state = JobState::kWaiting;
  std::optional<sched::Reason> reason;      ///< of the last decision
  JobState leaves_as = JobState::kWaiting;  ///< when its last task has left; kWaiting = it comes again
  bool on_hold = false;
  bool cancelled = false;
  bool failing = false;  ///< a task has failed, the others are told to stop
  uint32_t first_task = 0;
  int32_t launches = 0;  ///< numbers attempts
  int32_t starts = 0;
  int32_t failures = 0;
  int32_t losses = 0;
  int64_t array_first = 0;
  int32_t array_index = 0;
  Instant submitted;
  std::optional<Instant> first_started, started, ended;
  std::vector<PlacedTask> placed;
  std::vector<EndView> ends;
  Money posted;
  int64_t posted_micro_gpu_hours = 0;
  uint32_t account = 0;              ///< of GovernBook::spend
  Spend promised;                    ///< may still cost at most
  int64_t claimed_milli = 0;         ///< of GPUs, counted in its account
  std::vector<TrialReport> reports;  ///< of a trial, ascending by rung

  [[nodiscard]] ArrayIndex place_in_array() const { return array_first > 0 ? ArrayIndex(array_index) : std::nullopt; }
};

/// What the jobs of an array come to together.
struct ArraySum {
  std::map<JobState, int64_t> jobs;
  int64_t gpu_milli = 0;  ///< asked for by those that have not ended
  int64_t micro_gpu_hours = 0;
  std::optional<Money> cost;
  int32_t starts = 0, failures = 0;
  std::optional<Instant> first_started, ended;  ///< the earliest start, the last end

  void add(const JobView& job, Currency currency);
  void add(const ArraySum& other);
};

/// Those jobs of an array that the log alone knows.
struct ForgottenJobs {
  std::vector<bool> counted;  ///< by place in the array
  ArraySum sum;
};

/// A search, by the scheduler's id.
struct StudyBook {
  std::string client, name;
  sched::TrialRules rungs;
};

/// What admission goes by, beside the configuration.
struct GovernBook {
  struct Told {
    Interval month;
    int percent = 0;  ///< highest threshold told of
    bool forecast = false;
  };
  SpendBook spend;
  std::vector<BudgetRule> budgets;            ///< set by command, ascending by name; others are in the configuration
  std::map<int64_t, ApprovalView> approvals;  ///< of jobs (of an array: of its first) that needed it
  std::map<std::string, Told, std::less<>> told;
  std::set<uint32_t> on_nodes;  ///< jobs with tasks there, by the scheduler's ids
  bool changed = false;         ///< since budgets were last looked at
  Instant watched;              ///< then
  std::vector<NodeKind> kinds;  ///< of machines, each once
};

/// A machine, by the scheduler's id; without a name: none, its id waits for the next machine.
struct NodeBook {
  Machine machine;
  std::vector<uint32_t> price_rules;  ///< of FleetConfig::prices: those that name it
  Rate charged;                       ///< now
  std::vector<RatePoint> rates;       ///< the last changes of that, ascending; not empty for a machine
  Instant rates_until;                ///< changes are among them up to then
  bool down = false;
  bool draining = false;  ///< by command, or because the configuration does not name it any more
  bool named = true;      ///< by the configuration, as it is now
  // Told by the backend.
  bool reported = false;         ///< it found the machine by itself
  bool leaving = false;          ///< takes no new task
  bool lost = false;             ///< is down by that
  std::optional<Instant> until;  ///< it will be gone then
  bool cleared = false;          ///< what ran there was told to leave before that
  std::string detail;            ///< why it is down or leaving

  /// What it costs from then on; of more than 64 changes the oldest are forgotten.
  void charge_from(Instant from, Rate rate);
  [[nodiscard]] bool is_machine() const { return !machine.node.name.empty(); }
  [[nodiscard]] bool is_usable() const { return !down && !draining && !leaving; }
  [[nodiscard]] bool counts() const { return is_machine() && (named || reported); }
};

struct QueueBook {
  int64_t waiting = 0;
  int64_t running = 0;
  Money posted;
};

/// The week as of which prices are told ahead; the same for all instants of seven days.
int64_t week_of_prices(Instant t);

/// Name of the side stream of a client whose row n is the id of its n-th job since clients have their own counts: this and the
/// client's name.
inline const std::string kNumberStream = "jobs of ";

/// In words for a person.
std::string_view words_of(sched::Reason reason);

/// What a job is called: what its user calls it, else what it runs.
std::string name_shown(const JobRequest& request);
/// What its cluster calls a job of others; empty = it was submitted here.
std::string others_job_of(const JobRequest& request);
/// What of a launch its request says: all but where it runs, and who starts with it.
Launch launch_like(const JobRequest& request);
/// Who submits cannot say that it is one.
Status check_no_others_job(const JobRequest& request);

struct Engine::Impl {
  Impl(EventLog& event_log, EngineOptions engine_options) : log(event_log), options(std::move(engine_options)) {}

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
  void apply_trial(sched::JobId id, const Record& record);
  void apply_report(const Report& report, bool done);
  void left_by_itself(sched::JobId id, size_t at);
  void leave(sched::JobId id, size_t at);
  void leave_with_the_others(sched::JobId id);
  static bool may_be_done(const JobBook& job);
  void apply_cancel(sched::JobId id);
  void apply_hold(sched::JobId id, bool on);
  void event_of(sched::EventKind kind, sched::JobId job);
  void event_of(sched::EventKind kind, NodeId node);
  void lose(sched::JobId id, size_t at, std::string_view detail);
  void after_loss(sched::JobId id);
  void settle(sched::JobId id);
  void decided(const sched::Decision& decision);
  void evicted(const sched::Decision& decision);
  void left(sched::JobId id);
  void back_to_waiting(sched::JobId id);
  void end(sched::JobId id, JobState state);
  void set_state(sched::JobId id, JobState state);
  void note(EventView event);
  void note(std::string_view kind, sched::JobId job, std::string_view node, std::string detail);
  void note_of_queue(std::string_view kind, std::string_view queue, std::string detail);
  void place(sched::JobId id, const sched::Decision& decision);

  // engine_prices.cc
  [[nodiscard]] MachinePrices prices_of(const NodeBook& node) const {
    return {node.machine.rate, fleet.prices, node.price_rules};
  }
  [[nodiscard]] std::vector<NodeId> repriced_by(const FleetConfig& next) const;
  void follow_prices(NodeBook& book) const;
  void set_prices(std::vector<PriceRule> rules);
  void charge(NodeId node);
  void apply_prices();
  void find_next_prices();
  void tell_prices_ahead();

  // engine_asks.cc
  [[nodiscard]] sched::Request request_of(std::string_view client, const JobRequest& request) const;
  [[nodiscard]] Status check_domains(const JobRequest& request) const;
  [[nodiscard]] std::optional<sched::Gang> gang_of(const JobRequest& request) const;
  [[nodiscard]] sched::ProductId product_of(std::string_view client, const std::string& makes);

  // engine_machines.cc
  Status apply_node(const Record& record);
  Status apply_machine(const std::string& json);
  NodeBook& put_machine(const Machine& machine);
  void lose_tasks_on(NodeId node, std::string_view detail);
  void note_machine(std::string_view kind, const NodeBook& node, std::string_view cause);
  void hear_of_machines(Instant at, std::vector<MachineReport> news, bool first);
  void stage_machine(MachineReport report);
  [[nodiscard]] bool is_used(NodeId node) const;
  [[nodiscard]] bool is_staged(RecordKind kind, std::string_view node) const;
  void stage_node(RecordKind kind, std::string_view node, const MachineReport& report);
  void clear_those_that_go(Instant at);
  void retire_unnamed();

  // engine_others.cc
  void hear_of_others(const OthersJob& job);
  void miss_others(const OthersThere& there);
  void take_in(const OthersJob& job);
  void stage_adoption(int64_t id, std::vector<std::string> machines);
  void apply_adoption(sched::JobId id, const std::vector<std::string>& machines);
  void index_others();

  // engine_govern.cc
  [[nodiscard]] bool governed() const;
  [[nodiscard]] MostCost most_cost_of(const JobRequest& request) const;
  [[nodiscard]] AdmissionFacts facts_of(const JobRequest& request);
  void look_at_approvals(Instant at);
  [[nodiscard]] Status check_backlog_of(const JobRequest& request, AdmissionRefusal* why) const;
  Result<std::string> admit_submit(const JobRequest& request, AdmissionRefusal* why);
  void open_account(sched::JobId id, const MostCost& cost, bool needs_approval);
  void promise(JobBook& job);
  void close_account(JobBook& job);
  void book_spend(JobBook& job, const RunPosting& posting);
  void set_kinds();
  [[nodiscard]] std::vector<std::string> allowed_nodes(std::string_view client) const;
  Status apply_budget(const Record& record);
  void decide_approval(const Record& record);
  Status stage_decision(RecordKind kind, int64_t job, std::string reason, const CommandInfo& by);
  /// nullptr: it needed none, or is of the log and has it in its row.
  [[nodiscard]] const ApprovalView* approval_of(const JobBook& job) const;
  /// Jobs are approved by themselves or with all of their array, whose first one names them.
  [[nodiscard]] static int64_t first_decided_with(const JobBook& job) { return job.array_first > 0 ? job.array_first : job.id; }
  /// Those of them that are in memory: all, as long as one waits for approval.
  [[nodiscard]] std::span<const JobBook> decided_with(int64_t first) const;
  [[nodiscard]] int64_t first_unapproved(int64_t first) const;
  [[nodiscard]] std::vector<const BudgetRule*> all_budgets() const;
  [[nodiscard]] bool pays(const BudgetRule& rule, uint32_t queue, std::string_view project) const;
  [[nodiscard]] BudgetStanding standing_of(const BudgetRule& rule, const std::vector<Spend>& spent,
                                           const std::vector<Spend>& promised) const;
  /// Per account: the month of an instant, what runs until then included; and what may still come.
  struct Standing {
    Interval month;
    std::vector<Spend> spent, promised;
    // Of what runs: nano-units an hour, and what it costs by the end of the month beyond what is promised, as jobs without a time
    // limit go on and on.
    std::vector<Int128> burning, unbounded;
    std::vector<Int128> dearer;  ///< what the rest of the month costs beyond that, as prices change
  };
  struct BudgetOutlook {
    Int128 burning = 0;
    Int128 dearer = 0;     ///< see Standing
    Int128 month_end = 0;  ///< spent by then
    bool over = false;
    bool certain_over = false;        ///< by what is promised, and what runs without a time limit
    std::optional<Instant> runs_out;  ///< within the month
  };
  [[nodiscard]] BudgetOutlook outlook_of(const BudgetRule& rule, const Standing& standing, Instant at) const;
  [[nodiscard]] Standing standing(Instant at) const;
  [[nodiscard]] Instant next_watch() const;
  void watch_budgets();

  // engine_accounts.cc
  [[nodiscard]] int64_t gpu_milli(const JobBook& job, const sched::Place& place) const;
  [[nodiscard]] Money cost_over(const JobBook& job, const PlacedTask& placed, Interval when) const;
  [[nodiscard]] Money cost_of_hour(const JobBook& job, const PlacedTask& placed) const;
  [[nodiscard]] Money cost_at(Rate rate, const JobBook& job, const PlacedTask& placed, Duration length) const;
  [[nodiscard]] Rate burn_of(sched::JobId id) const;
  [[nodiscard]] RunPosting posting_of(sched::JobId id, const PlacedTask& placed, Instant until) const;
  void post(sched::JobId id, PlacedTask& placed, Instant until);
  void post_all_on(NodeId node);
  [[nodiscard]] std::vector<RunPosting> postings_of(const std::vector<Record>& records, Instant at) const;
  // What has been posted and what runs on unposted until `at`, which is not before the last step.
  [[nodiscard]] Money cost_of(const JobBook& job, sched::JobId id, Instant at) const;
  [[nodiscard]] int64_t micro_gpu_hours_of(const JobBook& job, Instant at) const;
  [[nodiscard]] Currency currency() const;
  [[nodiscard]] WaitingNames names(const MayName& may_name, int64_t subject) const;  ///< engine_views.cc

  // engine_orders.cc
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> mps_limits(const JobBook& job, const sched::Place& place) const;
  [[nodiscard]] Launch launch_of(sched::JobId id, const PlacedTask& placed) const;
  void hear_of_launch(const LaunchNote& launch);
  [[nodiscard]] std::string text_of_hindrances(sched::JobId id) const;
  [[nodiscard]] const PlacedTask* find_placed(const LaunchKey& key) const;
  [[nodiscard]] bool concerns_us(const Report& report) const;
  void carry_out(Instant at);
  [[nodiscard]] Duration grace_of(const LaunchKey& key, const PlacedTask& placed, Instant at) const;
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
  [[nodiscard]] sched::JobId find(int64_t id) const;
  [[nodiscard]] JobView view_of(const JobBook& job) const;  ///< engine_views.cc; what it costs and holds as of its last end
  /// Which jobs it waited for in vain, and what became of them; empty = none is known.
  [[nodiscard]] std::string failed_dependency_of(const JobBook& job) const;  ///< engine_views.cc
  [[nodiscard]] const std::string& queue_name(sched::QueueId q) const { return fleet.queues[q.index()].name; }
  [[nodiscard]] const std::string& client_of(sched::QueueId q) const;
  [[nodiscard]] int32_t min_tasks(const JobBook& job) const {
    return job.request->min_tasks > 0 ? job.request->min_tasks : job.request->tasks;
  }
  [[nodiscard]] static int32_t staying(const JobBook& job);
  [[nodiscard]] LaunchKey key_of(sched::JobId id, const PlacedTask& placed) const {
    return {.job = id_of(id), .attempt = placed.attempt, .task = placed.task};
  }

  EventLog& log;
  Backend* backend = nullptr;  ///< none while it follows
  EngineOptions options;
  JsonParser parser;
  Recovery recovery;
  bool live = false;  ///< past recovery: orders are carried out

  // A pure function of the records.
  FleetConfig fleet;  ///< its nodes are those of `nodes` only in name: see there
  std::optional<sched::Scheduler> scheduler;
  Instant now;
  Instant looked_at;  ///< no part of it: look()
  [[nodiscard]] Instant shown_at() const { return std::max(now, looked_at); }
  int64_t step = 0;  ///< applied so far
  int64_t sequence = 0;
  std::vector<JobBook> jobs;  ///< in memory: by the scheduler's id, ascending by their own
  int64_t accepted = 0;       ///< jobs ever; the last id
  int64_t ended_in_memory = 0;
  std::map<std::string, Instant, std::less<>> forgotten_until;  ///< by client: no job of it that ended later has left memory
  std::vector<NodeBook> nodes;                                  ///< by the scheduler's id
  bool machines_come = false;                                   ///< some that the configuration does not name have come, or may
  std::set<std::string> kept_machines;                          ///< see Engine::keep_machines; not state
  std::vector<QueueBook> queues;
  std::map<std::string, NodeId, std::less<>> node_ids;
  std::map<std::string, sched::QueueId, std::less<>> queue_ids;
  GovernBook govern;
  uint32_t arrays = 0;
  std::vector<StudyBook> studies;
  std::map<std::string, int64_t, std::less<>> products;  ///< the scheduler's ids by client and what is made: product_of()
  Instant next_prices = sched::kNever;                   ///< some machine costs something else from then on
  int64_t prices_told = -1;     ///< the week as of which the scheduler knows prices ahead; −1 = it knows none
  bool prices_changed = false;  ///< in the step being applied: what is known ahead holds no more
  int64_t unnumbered = 0;       ///< jobs up to this id are called by it: accepted before clients had their own counts
  std::map<std::string, int64_t, std::less<>> numbered;      ///< by client: the number of its last job
  std::map<std::string, int64_t, std::less<>> event_counts;  ///< by audience: events it was told of
  std::vector<sched::Event> owed;                            ///< to the scheduler with the next step
  std::deque<EventView> event_views;
  int64_t last_event = 0;

  // Of the step being applied.
  std::vector<sched::Event> events;
  std::vector<sched::JobId> touched;

  // Of the step being put together.
  std::vector<Record> staged;
  std::map<std::string, LogKey, std::less<>> staged_keys;  ///< by key
  std::vector<SideRow> staged_rows;
  std::vector<std::string> staged_renewals;
  uint32_t staged_jobs = 0;
  std::map<std::string, int64_t, std::less<>> staged_numbers;  ///< by client: jobs in it
  SpendBook staged_spend;                                      ///< claims of the submits in it
  std::optional<Standing> standing_now;                        ///< as of the last step or look()

  RecordQuota log_quota;  ///< no part of the state

  Instant approvals_looked_at;

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
  std::vector<LaunchKey> strangers;        ///< run, are in no record, and were told to stop: nothing starts before they are gone
  std::vector<MachineReport> heard_later;  ///< of machines whose names others bear until the step is over
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
