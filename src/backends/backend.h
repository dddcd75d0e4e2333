// What carries out a decision: starts, signals and stops the tasks of jobs, and tells what became of them.
//
// A backend decides nothing and forgets nothing: every command names its launch by a key, a command that comes twice is
// carried out once, and a task's end is told again after a restart until the caller says that it has recorded it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
};

/// The user a task runs as, in place of the daemon's own.
struct RunAs {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

/// What a simulated task does, since nothing runs.
struct SimulatedRun {
  Duration duration;      ///< from its start to its end
  int exit_code = 0;      ///< with which it then ends
  Duration leaving_time;  ///< from the order to stop to the end, at most the grace
};

/// Everything about one execution of a task.
struct Launch {
  LaunchKey key;
  std::string node;
  std::vector<GrantedGpu> gpus;
  Tenancy tenancy = Tenancy::kAlone;
  int64_t cpu_milli = 0;  ///< thousandths of a core; 0 = not limited
  Bytes memory;           ///< of the host; 0 = not limited
  /// Program (searched in PATH) and its arguments, at least one; with `script`, the script's name and its arguments.
  std::vector<std::string> command;
  std::string script;  ///< text that begins with #! and is run in place of a program; "" = none
  /// On top of a small clean environment; the daemon's own is not handed on.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder;       ///< to run in; "" = the user's home, or / without one
  std::string output_path;  ///< appended to; "" = the backend's own file
  std::string error_path;   ///< likewise; the same path as output_path joins the two
  std::optional<RunAs> run_as;
  std::string owner;  ///< "CLIENT/USER": whose account of the machine it has where each has one; "" = the backend's default
  std::optional<GangPlace> gang;
  Duration time_limit;                     ///< 0 = none; then it is stopped with `grace`
  Duration grace = Duration::seconds(30);  ///< between the request to leave and the end by force
  std::optional<SimulatedRun> simulated;   ///< needed by the simulated backend, ignored by others
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

/// Owned and called by one thread. Nothing here waits for a task.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "local", "simulated".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// What a person must know about it, one sentence each: that nothing runs really, that a limit cannot be enforced here.
  [[nodiscard]] virtual std::vector<std::string> notes() const = 0;

  /// Starts it, or does nothing when that key was started before: also before a crash, and after its end. After a
  /// restart the caller repeats every launch it knows of and has not recorded the end of, with the time of its first start.
  /// @param now  when it was decided.
  /// @return error when it cannot be started and nothing of it is left behind: it may be tried again.
  ///   kUnavailable: not now (a GPU is not clear); anything else: not like this.
  virtual Status start(const Launch& launch, Instant now) = 0;

  /// Sends a signal to all processes of a task. A task that has ended takes it silently. @return kNotFound: no such launch.
  virtual Status signal(const LaunchKey& key, int signal) = 0;

  /// Asks a task to leave (SIGTERM) and ends it by force (SIGKILL) after `grace`. A second call can only shorten the grace.
  /// @return kNotFound: no such launch.
  virtual Status stop(const LaunchKey& key, Duration grace, Instant now) = 0;

  /// What happened up to `now` and was not told by this object before, ordered by time, then key, then kind.
  virtual std::vector<Report> poll(Instant now) = 0;

  /// The machines that it found by itself, and those of the caller's configuration that cannot be used just now, each as of the last
  /// poll_machines(). Whoever restarts asks this first: a machine of the first kind that is not among them is gone, one of the
  /// second is there. None, where a backend knows the caller's configuration and nothing else.
  [[nodiscard]] virtual std::vector<MachineReport> machines() const { return {}; }
  /// What became of machines up to `now` and was not told by this object before, in the order in which it happened.
  virtual std::vector<MachineReport> poll_machines(Instant /*now*/) { return {}; }

  /// When poll() or poll_machines() will have something to tell, where that is known; none = call it regularly.
  [[nodiscard]] virtual std::optional<Instant> next_report_at() const = 0;

  /// Launches that have begun and not ended as of the last call of poll(), in order of their keys.
  [[nodiscard]] virtual std::vector<LaunchKey> running() const = 0;

  /// The end of this launch is recorded: it is not told again after a restart. Its key must not be used any more.
  /// @return kConflict while it has not ended, kNotFound: no such launch.
  virtual Status forget(const LaunchKey& key) = 0;
};

}  // namespace stint
