// What carries out decisions: takes orders for the tasks of jobs, and tells what became of them, of machines, and of what it printed.
//
// A backend decides nothing and forgets nothing. Orders come in batches and their caller does not wait; what follows from them is told as
// events. Every order names its launch by a key: one that comes twice is carried out once and answered again, so whoever has no answer
// asks again. A task's end is told again after a restart until the caller says that it has recorded it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backends/log_piece.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "host/process.h"
#include "model/machine.h"

namespace stint {

/// Names one execution of one task: no two executions share a key, on any machine, ever.
struct LaunchKey {
  int64_t job = 0;
  int32_t attempt = 0;  ///< 0 = first; a job that is tried again has the next
  int32_t task = 0;     ///< of a gang: 0 … tasks − 1
  auto operator<=>(const LaunchKey&) const = default;
};
/// The job and attempt that launches have together.
struct AttemptKey {
  int64_t job = 0;
  int32_t attempt = 0;
  auto operator<=>(const AttemptKey&) const = default;
};
inline AttemptKey attempt_of(const LaunchKey& key) { return {key.job, key.attempt}; }
/// "MARK:17.0", as a cluster is told of it. @return none for any other text, and for another daemon's mark.
std::string to_text(const AttemptKey& key, std::string_view mark);
std::optional<AttemptKey> parse_attempt(std::string_view text, std::string_view mark);
/// "17.0.3": job, attempt, task. Fit for a file name.
std::string format_key(const LaunchKey& key);
/// @return none for any other text, negative parts and leading zeros included.
std::optional<LaunchKey> parse_key(std::string_view text);
/// What a backend says of a launch that it does not have.
Error never_started(const LaunchKey& key);

/// A GPU, or a part of one, that a task may use.
struct GrantedGpu {
  int index = 0;         ///< on its node, in NVML's order
  std::string uuid;      ///< "" = not known: the index names it
  std::string mig_uuid;  ///< "MIG-…": the device it gets in place of the whole GPU; a profile ("2g.20gb"): any such device
  bool operator==(const GrantedGpu&) const = default;
};

enum class Tenancy : uint8_t {
  kAlone,   ///< no other is on its GPUs: their memory must be clear before it starts
  kShared,  ///< others may be on them
};

/// A task's place among those that start together and talk to each other.
struct GangPlace {
  int32_t rank = 0;
  int32_t world_size = 1;
  int32_t local_rank = 0;  ///< among the gang's tasks on the same node
  int32_t local_world_size = 1;
  std::string master_address;  ///< of the node that rank 0 is on; "" = this one
  int32_t master_port = 0;     ///< 0 = the gang has none
  bool operator==(const GangPlace&) const = default;
};

/// The user a task runs as, in place of the daemon's own.
struct RunAs {
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool operator==(const RunAs&) const = default;
};

/// What a simulated task does, since nothing runs.
struct SimulatedRun {
  Duration duration;      ///< from its start to its end
  int exit_code = 0;      ///< with which it then ends
  Duration leaving_time;  ///< from the order to stop to the end, at most the grace
  bool operator==(const SimulatedRun&) const = default;
};

/// Everything about one execution of a task.
struct Launch {
  LaunchKey key;
  std::string node;
  std::vector<GrantedGpu> gpus;
  int32_t gpu_milli = 0;  ///< thousandths that it has of its one GPU; 0 = all of them, or MIG devices
  Tenancy tenancy = Tenancy::kAlone;
  int64_t cpu_milli = 0;  ///< thousandths of a core; 0 = not limited
  Bytes memory;           ///< of the host; 0 = none was named
  Bytes memory_share;     ///< of its machine's: as much as its GPUs or CPUs are of the machine's; 0 = not known
  /// Program (searched in PATH) and its arguments, at least one; with `script`, the script's name and its arguments.
  std::vector<std::string> command;
  std::string script;  ///< text that begins with #! and is run in place of a program; "" = none
  std::string image;   ///< of a container that it runs in; "" = the machine as it is
  /// On top of a small clean environment; the daemon's own is not handed on.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder;       ///< to run in; "" = the user's home, or / without one
  std::string output_path;  ///< appended to; "" = the backend's own file
  std::string error_path;   ///< likewise; the same path as output_path joins the two
  std::optional<RunAs> run_as;
  std::string queue;  ///< whole name; for clusters that keep accounts of their own
  std::string owner;  ///< "CLIENT/USER": whose account of the machine it has where each has one; "" = the backend's default
  std::optional<GangPlace> gang;
  Duration time_limit;                     ///< 0 = none; then it is stopped with `grace`
  Duration grace = Duration::seconds(30);  ///< between the request to leave and the end by force
  std::optional<SimulatedRun> simulated;   ///< needed by the simulated backend, ignored by others
  /// The job of others that this is, by its name there; "" = one of the caller's own. All tasks of an attempt are one such job.
  std::string others_job;
  bool operator==(const Launch&) const = default;
};

enum class ReportKind : uint8_t {
  kStarted,  ///< it runs
  kEnded,    ///< with `status`
  kLost,     ///< it is gone and how it ended is not known; nothing of it runs any more
};

/// Why a task ended.
enum class EndCause : uint8_t {
  kItself,       ///< it ended by itself, well or badly, or somebody else ended it
  kStopped,      ///< stop() was asked for
  kTimeLimit,    ///< it ran for as long as it may
  kOutOfMemory,  ///< it took more memory than it may
  kNotStarted,   ///< its command could not be run; `detail` says why
};
std::string_view name_of(EndCause cause);

/// What the kernel counted for a task and all it started.
struct TaskUsage {
  Duration cpu_time;
  Bytes peak_memory;  ///< of its largest process
  bool operator==(const TaskUsage&) const = default;
};

struct Report {
  ReportKind kind = ReportKind::kStarted;
  LaunchKey key;
  Instant at;  ///< when it happened, which may be long before it is told
  ExitStatus status;
  EndCause cause = EndCause::kItself;
  std::string detail;  ///< for a person; "" = nothing to add
  std::optional<TaskUsage> usage;
};

/// What became of a machine.
enum class MachineNews : uint8_t {
  kThere,     ///< it can be used: it has come, or is back, or costs something else
  kDraining,  ///< it takes no new task; what runs there goes on, until `until` at most
  kLost,      ///< it does not answer and may come back; its tasks are lost
  kGone,      ///< for good: likewise, and it is forgotten
};

enum class MachineCause : uint8_t {
  kOther,
  kSpot,         ///< its owner wants it back
  kMaintenance,  ///< of its owner
  kBroken,       ///< a GPU or more of it cannot be used
};
std::string_view name_of(MachineCause cause);  // "other", "spot", "maintenance", "broken"

struct MachineReport {
  MachineNews news = MachineNews::kThere;
  Machine machine;  ///< its name says all but for kThere
  MachineCause cause = MachineCause::kOther;
  std::optional<Instant> until;  ///< kDraining: it will be gone then; none = not known to end
  std::string detail;            ///< for a person; "" = nothing to add
};

enum class OrderKind : uint8_t {
  kStart,   ///< `launch`; does nothing when that key was started before, also before a crash, and after its end
  kSignal,  ///< to all processes of a task
  kStop,  ///< asks a task to leave (SIGTERM) and ends it by force (SIGKILL) after `grace`; a second one can only shorten the grace
  kForget,   ///< the end is recorded: it is not told again after a restart; the key must not be used any more
  kDismiss,  ///< a job of others that waits has ended for the caller: it is taken back there
};
std::string_view name_of(OrderKind kind);  // "start", "signal", "stop", "forget"

struct Order {
  OrderKind kind = OrderKind::kStart;
  LaunchKey key;
  /// When it was decided; of a start that is repeated: of its first time.
  Instant at;
  std::optional<Launch> launch;  ///< kStart: with the same key
  std::string others_job = {};   ///< kDismiss
  int signal = 0;                ///< kSignal
  Duration grace;                ///< kStop
};

/// Why an order was not carried out.
enum class RefusalKind : uint8_t {
  kNotNow,    ///< kStart: nothing of it is left behind, it may be tried again (a GPU is not clear)
  kNotSo,     ///< kStart: likewise, and it will not do better another time
  kNotKnown,  ///< kSignal, kForget: no such launch
  kRuns,      ///< kForget: it has not ended
};

struct Refusal {
  OrderKind order = OrderKind::kStart;
  RefusalKind kind = RefusalKind::kNotNow;
  LaunchKey key;
  Instant at;
  std::string detail;  ///< for a person
};

/// A job that somebody gave to the cluster by its own tools, as of now.
struct OthersJob {
  enum class State : uint8_t {
    kWaits,   ///< for the caller to start it: Launch::others_job
    kOnHold,  ///< likewise, but not now: somebody else has to let it go
    kRuns,    ///< on `machines`, whoever started it
    kEnded,   ///< or is no longer the caller's to start
  };
  std::string name;   ///< what the cluster calls it: "17_3"
  Instant submitted;  ///< with it no two jobs have a name
  State state = State::kWaits;
  std::string queue;  ///< of the caller's
  std::string user;
  std::string title;  ///< as its owner called it
  // Of each of its tasks.
  int32_t gpus = 0;
  int32_t gpu_milli = 0;                ///< in place of `gpus`: thousandths of one
  std::string mig_profile;              ///< likewise: MIG devices, "2x1g.10gb 3g.40gb"
  std::vector<std::string> gpu_models;  ///< any of these; empty = any
  int64_t cpu_milli = 0;
  Bytes memory;
  std::vector<std::string> only_on;  ///< machines that it may run on; empty = any
  int32_t tasks = 1;                 ///< each on a machine of its own
  int32_t priority = 50;
  bool preemptible = false;
  std::optional<Duration> time_limit;
  std::optional<Instant> deadline;
  Duration saves_every, saving, restarting;  ///< of its checkpoints; 0 = it has none
  Duration grace;
  std::vector<std::string> machines;  ///< kRuns: one for each task
  int restarts = 0;                   ///< how often its cluster has run it again
};

/// All jobs of others that the cluster has: what the caller's books have beside them went while it was away. Told once, when that is known.
struct OthersThere {
  std::vector<std::string> names;  ///< ascending
};

/// Something that a person must know, and is told once.
struct BackendNote {
  std::string text;
};

/// What keeps a launch that was ordered from beginning, as of now: its image cannot be had.
struct LaunchNote {
  LaunchKey key;
  std::string text;  ///< for a person; "" = nothing any more
};

/// What is told of tasks, of orders, of machines, and of jobs of others.
using BackendEvent = std::variant<Report, Refusal, MachineReport, OthersJob, OthersThere, BackendNote, LaunchNote>;

/// Which of a task's streams, and what of it.
struct LogQuery {
  LaunchKey key;
  bool output = true,
       error = true;   ///< those that the backend keeps: a stream that the task writes to a file of its own it does not
  int64_t offset = 0;  ///< below 0: from so many bytes before the end
  int64_t limit = 0;   ///< bytes
  bool ended = false;  ///< the task has: nothing more comes
};

/// Used by one thread, but for read_log(). Nothing here waits for a task, a machine or another program, but for read_log().
///
/// Answers to orders for a launch, by what is known of it:
///   kStart   not known: starts it and tells kStarted, or a Refusal; else tells again what was told of it last
///   kStop    not known: tells kEnded (kStopped), and the key is not started any more; runs: its end is told; has ended: told again
///   kSignal  not known: a Refusal; one that has ended takes it silently
///   kForget  not known, or has not ended: a Refusal
/// After a restart the caller repeats every launch that it knows of and has not recorded the end of.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "local", "simulated", "slurm", "kubernetes".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// What a person must know about it, one sentence each: that nothing runs really, that a limit cannot be enforced here.
  [[nodiscard]] virtual std::vector<std::string> notes() const = 0;

  /// Whether running() and machines() say all there is. After a start one that asks others may have to look first; orders may
  /// be given before that.
  [[nodiscard]] virtual bool is_ready() const { return true; }

  /// May such a job be submitted here, beside those of others that it tells of? @param like  one of its launches, without what is not
  /// known before it is placed. @return error that says what works instead.
  [[nodiscard]] virtual Status takes(const Launch& like) const;

  /// Does the cluster itself say which of a machine's GPUs a task gets? Then no task can be kept off a GPU of which others hold a part.
  [[nodiscard]] virtual bool chooses_gpus() const { return false; }

  /// In the order to carry them out. Those for one launch are carried out in this order.
  virtual void submit(std::vector<Order> orders) = 0;
  /// What happened up to `now` and was not told by this object before; what is told of tasks is ordered by time, then key, then kind.
  virtual std::vector<BackendEvent> drain(Instant now) = 0;
  /// When drain() will have something to tell, where that is known; none = call it regularly.
  [[nodiscard]] virtual std::optional<Instant> next_event_at() const = 0;
  /// Called, maybe by another thread, when drain() has something to tell that next_event_at() did not foresee. {} = none.
  virtual void on_events(std::function<void()> /*listener*/) {}

  /// Launches that have begun and not ended as of the last drain(), in order of their keys.
  [[nodiscard]] virtual std::vector<LaunchKey> running() const = 0;
  /// The machines that it found by itself, and those of the caller's configuration that cannot be used just now, each as of the last
  /// drain(). Whoever restarts asks this first: a machine of the first kind that is not among them is gone, one of the second is
  /// there. None, where a backend knows the caller's configuration and nothing else.
  [[nodiscard]] virtual std::vector<MachineReport> machines() const { return {}; }

  /// A piece of what a task printed; both streams in the order in which they came, where both are asked for. By any thread, at any time
  /// until the backend goes; may wait for a disk or another program.
  /// @return nothing where it has printed nothing yet; kNotFound where the backend keeps none.
  [[nodiscard]] virtual Result<LogPiece> read_log(const LogQuery& query) const = 0;
};

}  // namespace stint
