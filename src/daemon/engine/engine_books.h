// What the engine keeps, as values: jobs, machines, queues, budgets. All of it is a pure function of the records. Who changes what is said by
// the views of the classes beside it. Whoever adds a member names it in engine_snapshot.cc, and in engine_forget.cc when it knows of jobs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/engine/admission.h"
#include "daemon/engine/engine.h"
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

/// When machines cost something else; follows from machines and rules of prices.
struct PriceBook {
  Instant next = sched::kNever;  ///< some machine costs something else from then on
  int64_t told = -1;             ///< the week as of which the scheduler knows prices ahead; −1 = it knows none
  bool changed = false;          ///< in the step being applied: what is known ahead holds no more
};

/// All but what a step has while it is being applied.
struct EngineBooks {
  FleetConfig fleet;  ///< its nodes are those of `nodes` only in name: see there
  std::optional<sched::Scheduler> scheduler;
  Instant now;
  int64_t step = 0;  ///< applied so far
  int64_t sequence = 0;
  std::vector<JobBook> jobs;  ///< in memory: by the scheduler's id, ascending by their own
  int64_t accepted = 0;       ///< jobs ever; the last id
  int64_t ended_in_memory = 0;
  std::map<std::string, Instant, std::less<>> forgotten_until;  ///< by client: no job of it that ended later has left memory
  std::vector<NodeBook> nodes;                                  ///< by the scheduler's id
  bool machines_come = false;                                   ///< some that the configuration does not name have come, or may
  std::vector<QueueBook> queues;
  std::map<std::string, NodeId, std::less<>> node_ids;
  std::map<std::string, sched::QueueId, std::less<>> queue_ids;
  GovernBook govern;
  uint32_t arrays = 0;
  std::vector<StudyBook> studies;
  std::map<std::string, int64_t, std::less<>> products;  ///< the scheduler's ids by client and what is made: JobAsks::product_of
  int64_t unnumbered = 0;  ///< jobs up to this id are called by it: accepted before clients had their own counts
  std::map<std::string, int64_t, std::less<>> numbered;      ///< by client: the number of its last job
  std::map<std::string, int64_t, std::less<>> event_counts;  ///< by audience: events it was told of
  std::vector<sched::Event> owed;                            ///< to the scheduler with the next step
  std::deque<EventView> event_views;
  int64_t last_event = 0;
  PriceBook price_times;
};

/// What a job is called: what its user calls it, else what it runs.
std::string name_shown(const JobRequest& request);
/// What its cluster calls a job of others; empty = it was submitted here.
std::string others_job_of(const JobRequest& request);
/// Fewer tasks never run.
[[nodiscard]] inline int32_t min_tasks(const JobBook& job) {
  return job.request->min_tasks > 0 ? job.request->min_tasks : job.request->tasks;
}
/// The last of `events` is of it; the rest of it is the caller's.
inline void add_event(std::vector<sched::Event>& events, sched::EventKind kind, sched::JobId job) {
  sched::Event& event = events.emplace_back();
  event.kind = kind;
  event.job = job;
}
inline void add_event(std::vector<sched::Event>& events, sched::EventKind kind, NodeId node) {
  sched::Event& event = events.emplace_back();
  event.kind = kind;
  event.node = node;
}
/// Of `jobs`, ascending by their own ids. Not valid: never accepted, or no longer in memory.
[[nodiscard]] sched::JobId find_job(std::span<const JobBook> jobs, int64_t id);
/// nullptr: no such task is on a node.
[[nodiscard]] const PlacedTask* find_placed(std::span<const JobBook> jobs, const LaunchKey& key);
[[nodiscard]] inline LaunchKey key_of(const JobBook& job, const PlacedTask& placed) {
  return {.job = job.id, .attempt = placed.attempt, .task = placed.task};
}
/// The top of the queue's path.
[[nodiscard]] const std::string& client_of(const FleetConfig& fleet, sched::QueueId q);

}  // namespace stint
