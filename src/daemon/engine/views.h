// What the daemon shows of its state: plain values, made for a reader, so that terminal, page and API need no scheduler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "base/units.h"
#include "model/fleet.h"
#include "model/machine.h"

namespace stint {

enum class JobState : uint8_t {
  kOnHold,            ///< waits for its release
  kNeedsApproval,     ///< waits until somebody approves what it may cost
  kWaiting,           ///< for room, for another job or for its time; `why` says for what
  kRunning,           ///< enough of its tasks have been started
  kLeaving,           ///< told to stop, or failing: its last tasks have not ended
  kSucceeded,         ///< from here on it has ended
  kFailed,            ///< by itself, retries used up
  kCancelled,         ///< taken back
  kTimeLimit,         ///< stopped: ran for as long as it may
  kStopped,           ///< a hopeless trial
  kSkipped,           ///< another job has made what it makes
  kNeverFits,         ///< no machine could run it
  kDependencyFailed,  ///< a job it waits for did not succeed
  kRefused,           ///< somebody would not approve it
};
std::string_view name_of(JobState s);  // "on-hold", "waiting", "running", "leaving", "succeeded", "failed", "cancelled", …
std::optional<JobState> parse_job_state(std::string_view text);
inline bool has_ended(JobState s) { return s >= JobState::kSucceeded; }

/// What is called by a number within its client, as everybody outside of the daemon calls it: job "agency-17" is the seventeenth of
/// agency. Inside there is one count over all clients, whose gaps would tell a client how much goes on at the others.
std::string public_id(std::string_view client, int64_t number);
/// Of a job of an array its place there, from 0; none: it is of no array.
using ArrayIndex = std::optional<int32_t>;
/// A job of an array is called by the array's id, which is the number of its first, and its place: "agency-17_3".
std::string public_id(std::string_view client, int64_t number, ArrayIndex index);
struct PublicId {
  std::string client;  ///< empty = just a number was given
  int64_t number = 0;  ///< from 1
  ArrayIndex index;    ///< given behind it
};
/// "agency-17", "agency-17_3", or the same without the client. none: neither.
std::optional<PublicId> parse_public_id(std::string_view text);

/// The client of a queue: the top of its path.
std::string_view client_of_queue(std::string_view queue);

/// Of a job that may not run before it is approved.
struct ApprovalView {
  std::string why;                 ///< it needs approval
  std::string asked_by;            ///< who submitted it, on whoever's behalf
  Money most_cost;                 ///< it can come to
  std::string by;                  ///< who decided; empty = not decided yet
  std::optional<Instant> decided;  ///< none = it waits
  bool approved = false;
  std::string reason;  ///< of a refusal
};

/// A task that is on a node.
struct TaskView {
  int32_t task = 0;     ///< 0 … tasks − 1
  int32_t attempt = 0;  ///< of this launch
  std::string node;
  std::vector<int> gpus;  ///< indexes on the node
  int32_t gpu_milli = 0;  ///< share of that GPU; 0 = whole ones
  std::string mig_profile;
  Instant started;
  bool leaving = false;
};

/// How one launch of a task ended.
struct EndView {
  int32_t task = 0;
  int32_t attempt = 0;
  std::string node;
  Instant started;
  Instant ended;
  int exit_code = 0;      ///< when signal is 0
  int signal = 0;         ///< that ended it
  std::string detail;     ///< for a person: "out of memory", "lost with its node"; often empty
  uint64_t gpus = 0;      ///< it had: bit i = GPU i of the node
  int64_t gpu_milli = 0;  ///< held of them together
};

/// The GPUs of a set of bits, ascending.
std::vector<int> gpu_indexes(uint64_t gpus);

/// How good a trial was at a rung of its study.
struct TrialReport {
  int32_t rung = 0;
  int64_t loss_micro = 0;  ///< millionths, smaller is better
  Instant at;
};

/// Of a job that is a trial.
struct TrialView {
  std::string study;
  std::vector<int64_t> rungs;        ///< what each asks for: epochs, or what the study counts
  std::vector<TrialReport> reports;  ///< ascending by rung
};

/// Jobs by their state, those that run first, then those that wait, then those that have ended; states without any are left out.
using StateCounts = std::vector<std::pair<JobState, int64_t>>;
/// "3 running, 5 waiting, 2 succeeded".
std::string text_of(const StateCounts& counts);

/// Some of a gang's tasks, all alike; or what holds such groups together.
struct GroupView {
  std::string name, within;
  int32_t tasks = 0, least_tasks = 0;  ///< 0 = it holds other groups
  int64_t gpu_milli = 0;               ///< of each task
  std::string gpu_part;                ///< likewise, where that is no number of GPUs
  std::vector<std::string> gpu_models;
  std::string required_topology, preferred_topology;
};

/// A job; or an array as a whole, which has the sums of its jobs and is called by the id of its first.
struct JobView {
  int64_t id = 0;
  int64_t number = 0;  ///< within its client
  std::string name;
  std::string queue;
  std::string client;  ///< the top of its queue's path
  std::string user;
  std::vector<std::pair<std::string, std::string>> tags;
  JobState state = JobState::kWaiting;
  std::string reason;   ///< of the last decision about it: "backfill", "preempted by priority"; may be empty
  std::string command;  ///< as one line, shortened
  int32_t tasks = 1;
  int32_t gpus_per_task = 0;
  int64_t gpu_milli = 0;  ///< of all tasks together; of what is asked for as `gpu_part`, what is held
  std::string
      gpu_part;  ///< what each task asks for where that is no number of GPUs: "18 GiB of a GPU", "MIG 1g.10gb"; else empty
  int32_t priority = 0;
  std::vector<std::string> after;  ///< public ids
  int64_t array = 0;               ///< id of the first job of its array; 0 = none
  int32_t array_index = 0;         ///< 0 … array_size − 1
  int32_t array_size = 0;
  bool whole_array = false;
  StateCounts array_jobs;  ///< of an array as a whole
  Instant submitted;
  std::optional<Instant> first_started, started, ended;  ///< started: the current or last run
  std::optional<Instant> deadline;
  bool deferrable = false;
  std::string makes;                            ///< what it leaves; empty = nothing that another could use
  std::vector<GroupView> groups;                ///< of a gang whose tasks differ
  std::string shares_with, work_kind;           ///< of a part of a GPU
  std::optional<int32_t> max_slowdown_percent;  ///< likewise; none = any
  std::string required_topology, preferred_topology;
  std::vector<Label> labels;                         ///< of its tasks
  std::vector<std::string> affinity, anti_affinity;  ///< as asked for: "app=cache@rack"
  std::optional<Duration> time_limit;
  int32_t starts = 0;
  int32_t failures = 0;
  std::vector<TaskView> placed;          ///< its tasks on nodes, ascending
  std::vector<EndView> ends;             ///< of the last launches, oldest first; at most kEndsKept
  int64_t micro_gpu_hours = 0;           ///< held so far, millionths
  Money cost;                            ///< so far, what still runs included
  Rate burn;                             ///< of what it holds now
  std::optional<ApprovalView> approval;  ///< none = needed none
  std::optional<TrialView> trial;        ///< none = it is none
};
inline constexpr size_t kEndsKept = 16;
inline std::string public_id(const JobView& job) {
  return public_id(job.client, job.number, job.array > 0 && !job.whole_array ? ArrayIndex(job.array_index) : std::nullopt);
}

/// kOff: drained and switched off. The engine knows of it as drained; whoever switches it (daemon/node_power) says so.
enum class NodeState : uint8_t { kUp, kDraining, kDrained, kDown, kOff };
std::string_view name_of(NodeState s);  // "up", "draining", "drained", "down", "off"

struct NodeView {
  std::string name;
  NodeState state = NodeState::kUp;
  std::string gpu_model;
  int32_t gpus = 0;
  Bytes gpu_memory;
  int64_t cpu_milli = 0;
  Bytes memory;
  Market market = Market::kOwned;
  std::string provider, region, instance_type;
  std::vector<std::pair<std::string, std::string>> labels;  ///< as configured: "rack", …
  Rate rate;                                                ///< of the whole node
  std::vector<RatePoint> rates;                             ///< its last changes, ascending, `rate` the last of them
  std::optional<Instant> until;                             ///< it will be gone then
  std::string detail;                                       ///< why it is down or leaving, where that was told
  std::vector<int64_t> gpu_milli_held;                      ///< per GPU, 0 … 1000
  std::vector<int64_t> jobs;                                ///< on it, ascending, each once
  std::vector<std::string> job_names;                       ///< their public ids, in the same order
};

/// What it costs as it is: its price, but nothing of one that is off and neither owned nor reserved.
Rate rate_now(const NodeView& node);

/// One launch of a task: where it was and from when to when.
struct RunView {
  int64_t job = 0;
  int64_t number = 0;  ///< of the job within its client
  ArrayIndex array_index;
  std::string name, queue, client, user;
  int32_t task = 0;
  int32_t attempt = 0;
  std::string node;
  uint64_t gpus = 0;      ///< bit i = GPU i of the node
  int64_t gpu_milli = 0;  ///< held of them together
  Instant started;
  std::optional<Instant> ended;  ///< none = it runs
  std::string end;               ///< "ok", "failed", or a word on how else it ended; empty while it runs
  Rate rate;  ///< its part of the node's price; where that changes with time, on average since `unposted_from` or over its run
  Rate burn;  ///< of one that runs: at the price of now
  Instant unposted_from;  ///< of one that runs: what it cost before is posted
};

struct QueueView {
  std::string path;
  std::string parent;                         ///< empty = top level
  std::optional<int64_t> deserved_gpu_milli;  ///< guaranteed
  std::optional<int64_t> limit_gpu_milli;     ///< none = unlimited
  double weight = 1;                          ///< by which what is not guaranteed is divided among siblings
  int64_t held_gpu_milli = 0;                 ///< by its own jobs and those of queues below it
  int64_t waiting = 0;                        ///< jobs, likewise; on hold not counted
  int64_t running = 0;
  std::optional<Money> budget, budget_spent;  ///< of this period
  std::optional<Instant> budget_runs_out, budget_renewed;
  Money cost;                         ///< of its jobs and those below it, since the daemon's log begins
  int64_t month_micro_gpu_hours = 0;  ///< used by them this month, millionths
};

/// A budget and how it stands this month.
struct BudgetView {
  std::string name, queue, project;
  Money per_month;
  std::vector<int> thresholds_percent;
  std::string at_limit;     ///< "refuse", "approve", "warn"
  bool configured = false;  ///< in the configuration file: changed there
  Interval month;
  Money spent;
  Money promised;                   ///< what jobs that wait or run may still cost at most
  int reached_percent = 0;          ///< the highest threshold reached; 0 = none
  Money burn_per_hour;              ///< of what runs now
  Money month_end;                  ///< forecast: what is promised, or going on at the rate of now, whichever is more
  bool forecast_over = false;       ///< that is more than it has
  std::optional<Instant> runs_out;  ///< at the rate of now, where it is over; within the month
};

/// Something that happened, in the order in which it did. Numbers go on over restarts and have no gaps.
struct EventView {
  int64_t number = 0;  ///< from 1
  int64_t told = 0;    ///< of those of its audience: see public_id()
  Instant at;
  std::string kind;        ///< "job.submitted", "job.started", "job.evicted", "job.ended", "node.draining", …
  int64_t job = 0;         ///< 0 = none
  int64_t job_number = 0;  ///< of it within its client
  ArrayIndex array_index;
  std::string queue;  ///< of the job
  std::string node;
  std::string detail;
};

/// Who may learn of it: those who see a client (its name), all who see machines, or only those who see all clients.
inline constexpr std::string_view kMachineAudience = "machines~";
inline constexpr std::string_view kFleetAudience = "fleet~";
std::string_view audience_of(const EventView& event);
/// Of the event with that public id; empty = it is none.
std::string_view audience_of_event(std::string_view public_id);
/// "agency-131", "machines~7": its own count for each audience, which does not tell how much happens to others.
std::string public_id(const EventView& event);
/// Of the job that it is about.
std::string public_id_of_job(const EventView& event);

/// The daemon as a whole.
struct EngineView {
  Instant now;       ///< that all of it is of
  int64_t jobs = 0;  ///< ever accepted
  int64_t waiting = 0, running = 0;
  int64_t gpus = 0;
  int64_t held_gpu_milli = 0;
  int64_t last_sequence = 0;             ///< of the log
  uint64_t fingerprint = 0;              ///< of the scheduler
  Rate burn;                             ///< of all that runs now, per hour
  std::optional<std::string> read_only;  ///< why no command is taken now; none = all is well
  std::string backend;
  std::vector<std::string> notes;  ///< what a person must know about the backend: that it is simulated, what it cannot limit
};

struct JobFilter {
  std::optional<JobState> state;
  std::optional<bool> ended;  ///< true: only those that have; false: only those that have not
  std::string queue;          ///< it and all below it; empty = all
  std::string user;           ///< empty = all
  std::string name;           ///< empty = all
  std::string study;          ///< trials of it; empty = all
  int64_t array = 0;          ///< jobs of the array with this first; 0 = all
  /// An array one of whose jobs is wanted comes as a whole, in place of those.
  bool arrays_as_one = false;
};

struct JobPage {
  std::vector<JobView> jobs;    ///< newest first
  std::optional<int64_t> next;  ///< to be given as `before` for the next page; none = that was all
};

}  // namespace stint
