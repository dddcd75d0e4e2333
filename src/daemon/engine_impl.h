// The engine's state, shared by its parts: engine.cc (recovery, the step), engine_commands.cc (what may come in),
// engine_apply.cc (records → events → decisions → books), engine_orders.cc (what the backend is told), engine_views.cc.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/engine.h"
#include "daemon/record.h"
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
  std::shared_ptr<const JobRequest> request;  ///< one for all jobs of an array
  sched::QueueId queue;
  JobState state = JobState::kWaiting;
  std::string_view reason;                  ///< of the last decision
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
};

struct NodeBook {
  sim::SimNode node;
  bool down = false;
  bool draining = false;
  bool named = true;  ///< by the configuration, as it is now
};

struct QueueBook {
  int64_t waiting = 0;
  int64_t running = 0;
  Money posted;
};

/// What the backend is to be told, once the step is durable.
struct Order {
  enum class Kind : uint8_t { kStart, kStop, kKill } kind = Kind::kStart;
  LaunchKey key;
  Instant first_tried = sched::kNever;  ///< kStart that could not be carried out yet
};

struct Engine::Impl {
  Impl(EventLog& event_log, Backend& the_backend, EngineOptions engine_options)
      : log(event_log), backend(the_backend), options(std::move(engine_options)) {}

  // engine.cc
  Status recover();
  Status catch_up();
  Status append(Instant at);
  Status apply_step(Instant at, std::vector<Record>& records);
  Status mark();

  // engine_commands.cc
  [[nodiscard]] Status check_writable() const;
  [[nodiscard]] Result<const JobBook*> find_job(int64_t id) const;
  Status stage_for_job(RecordKind kind, int64_t job, const CommandInfo& by);
  Status stage_for_node(RecordKind kind, std::string_view node, const CommandInfo& by);
  Status check_submit(const JobRequest& request) const;
  Status check_fleet(const FleetConfig& next) const;

  // engine_apply.cc
  Status apply(const Record& record);
  Status apply_fleet(const std::string& json);
  Status add_node(const sim::SimNode& node);
  Status apply_submit(const Record& record);
  void apply_node(const Record& record);
  void apply_report(const Report& report);
  void apply_cancel(int64_t id);
  void apply_hold(int64_t id, bool on);
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
  void note(std::string_view kind, sched::JobId job, std::string_view node, std::string detail);
  void place(sched::JobId id, const sched::Decision& decision);

  // engine_accounts.cc
  [[nodiscard]] RunPosting posting_of(sched::JobId id, const PlacedTask& placed, Instant until) const;
  void post(sched::JobId id, PlacedTask& placed, Instant until);
  [[nodiscard]] std::vector<RunPosting> postings_of(const std::vector<Record>& records, Instant at) const;
  [[nodiscard]] Money cost_of(const JobBook& job, sched::JobId id) const;
  [[nodiscard]] int64_t micro_gpu_hours_of(const JobBook& job) const;
  [[nodiscard]] Currency currency() const;
  [[nodiscard]] WaitingNames names(const MayName& may_name) const;  ///< engine_views.cc

  // engine_orders.cc
  [[nodiscard]] Launch launch_of(sched::JobId id, const PlacedTask& placed) const;
  [[nodiscard]] const PlacedTask* find_placed(const LaunchKey& key) const;
  [[nodiscard]] bool concerns_us(const Report& report) const;
  void carry_out(Instant at);
  bool start(Order& order, Instant at);
  void reconcile(Instant at);
  void poll(Instant at);
  void stage_report(const Report& report);

  [[nodiscard]] JobBook& book(sched::JobId id) { return jobs[id.index()]; }
  [[nodiscard]] const std::string& queue_name(sched::QueueId q) const { return fleet.queues[q.index()].name; }
  [[nodiscard]] const std::string& client_of(sched::QueueId q) const;
  [[nodiscard]] int32_t min_tasks(const JobBook& job) const {
    return job.request->min_tasks > 0 ? job.request->min_tasks : job.request->tasks;
  }
  [[nodiscard]] static int32_t staying(const JobBook& job);
  [[nodiscard]] int64_t gpu_milli(const sched::Place& place) const { return scheduler->cluster().gpu_milli(place); }
  [[nodiscard]] LaunchKey key_of(sched::JobId id, const PlacedTask& placed) const {
    return {.job = job_id_of(id), .attempt = placed.attempt, .task = placed.task};
  }

  EventLog& log;
  Backend& backend;
  EngineOptions options;
  JsonParser parser;
  Recovery recovery;
  bool live = false;  ///< past recovery: orders are carried out

  // A pure function of the records.
  FleetConfig fleet;  ///< its nodes are those of `nodes` only in name: see there
  std::optional<sched::Scheduler> scheduler;
  Instant now;
  int64_t step = 0;  ///< applied so far
  int64_t sequence = 0;
  std::vector<JobBook> jobs;
  std::vector<NodeBook> nodes;
  std::vector<QueueBook> queues;
  std::map<std::string, NodeId, std::less<>> node_ids;
  std::map<std::string, sched::QueueId, std::less<>> queue_ids;
  uint32_t arrays = 0;
  std::vector<sched::Event> owed;  ///< to the scheduler with the next step
  std::deque<EventView> event_views;
  int64_t last_event = 0;
  int64_t running_tasks = 0;

  // Of the step being applied.
  std::vector<sched::Event> events;
  std::vector<sched::JobId> touched;

  // Of the step being put together.
  std::vector<Record> staged;
  std::vector<LogKey> staged_keys;
  std::vector<SideRow> staged_rows;
  uint32_t staged_jobs = 0;

  // Towards the backend.
  std::vector<Order> orders;
  std::vector<LaunchKey> strangers;  ///< run though nobody knows them, told to stop: nothing starts before they are gone
  std::vector<LaunchKey> to_forget;  ///< ends that are recorded with the next step
  std::optional<std::string> read_only;
  int64_t marked_at = 0;
};

}  // namespace stint
