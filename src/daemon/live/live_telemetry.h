// What the GPUs do right now and did within the last day: the newest reading of each, minutes, and who holds it.
//
// Collectors put samples in, the engine's views say which jobs hold what, and whoever shows, alerts or exports takes plain
// values out. A GPU's position is given out once: it stays for as long as this object lives. Minutes are what alert rules are
// evaluated on (telemetry/minute_window.h counts each minute alike): feed each closed minute once, with its beginning as time.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "codec/metrics/service_figures.h"
#include "daemon/engine/views.h"
#include "model/metric.h"
#include "model/workload.h"
#include "telemetry/series.h"

namespace stint {

/// Where samples come from, best first: of two that measure the same thing the better one counts while it has news.
enum class LiveSourceKind : uint8_t { kNvml, kNvidiaSmi, kExporter, kPrometheus, kHost, kSimulated };
std::string_view name_of(LiveSourceKind kind);  // "nvml", "nvidia-smi", "exporter", "prometheus", "host", "simulated"

/// A source and how it fares. One that fails stays in the list.
struct LiveSource {
  LiveSourceKind kind = LiveSourceKind::kNvml;
  std::string name;                                 ///< the address where it has one
  std::optional<Instant> tried, succeeded, failed;  ///< the last of each
  std::string error;                                ///< of the last failure; stays when it has recovered
  uint64_t samples = 0;                             ///< taken, since the start
  uint64_t refused = 0;                             ///< not taken: without a machine, implausible, beyond what is kept
  std::string refusal;                              ///< why the last was not
  [[nodiscard]] bool ok() const { return succeeded && (!failed || *failed < *succeeded); }
};

struct LiveValue {
  double value = 0;  ///< in the metric's unit
  Instant at;
};
using LiveValues = std::array<std::optional<LiveValue>, kMetricCount>;  ///< by Metric

/// A task that holds a GPU or a part of it.
struct LiveHolder {
  int64_t job = 0;
  int64_t number = 0;  ///< of the job within its client
  ArrayIndex array_index;
  int32_t attempt = 0;
  int32_t task = 0;
  int32_t gpu_milli = 1000;
  std::string mig_profile;  ///< empty = not a MIG slice
  std::string name, queue, client, user;
  WorkloadKind kind = WorkloadKind::kUnknown;  ///< the tag `kind`, or guessed from name and queue
  Instant since;
};

/// A process that computes on a GPU.
struct LiveProcess {
  int64_t pid = 0;
  std::string command;               ///< its program's name; empty = not told
  std::optional<Bytes> memory_used;  ///< on the GPU; none = the driver does not tell
  int64_t job = 0;                   ///< 0 = foreign: it belongs to no job of the daemon's
  int32_t attempt = 0;
  int32_t task = 0;
  std::string account =
      {};  ///< that it has: "CLIENT/USER" where it is one of jobs', else as the system calls it; empty = not told
};

struct LiveGpu {
  DeviceKey device;
  Bytes memory;  ///< as configured; 0 = not known
  LiveValues latest;
  std::optional<Instant> seen;  ///< the newest sample; none = nothing has measured it
  std::string source;           ///< of that sample; empty = none
  bool simulated = false;       ///< made up from what jobs are said to use
  std::vector<LiveHolder> holders;
  std::optional<Instant> processes_seen;  ///< none = nothing tells processes of it
  std::vector<LiveProcess> processes;
  std::string held_back;  ///< why no job begins on it, for an operator; empty = nothing keeps one from it

  [[nodiscard]] std::optional<double> value(Metric metric) const {
    const auto& latest_value = latest[static_cast<size_t>(metric)];
    return latest_value ? std::optional(latest_value->value) : std::nullopt;
  }
};

/// Did no job that holds the GPU start the process? It is foreign, or of a job that was given other GPUs.
bool is_uninvited(const LiveGpu& gpu, const LiveProcess& process);
/// How many of the processes on it are.
int64_t uninvited_processes(const LiveGpu& gpu);

/// A machine's own metrics (host CPU); what it costs is in NodeView.
struct LiveNode {
  std::string name;
  Market market = Market::kUnknown;
  LiveValues latest;
  int64_t interruptions = 0;  ///< how often it went down since the start
};

/// The file of what was seen.
struct LiveHistoryState {
  std::string path;
  std::optional<Instant> written, failed;  ///< the last of each
  std::string error;                       ///< of the last failure; stays when it has recovered
  uint64_t waiting = 0;                    ///< samples to be written
  uint64_t dropped = 0;                    ///< when too many had to wait
};

/// How long jobs of a queue waited from their submission to their first start, since the daemon's start.
struct LiveWaits {
  static constexpr std::array<int64_t, 8> kUpToSeconds = {1, 10, 60, 300, 900, 3'600, 4 * 3'600, 24 * 3'600};
  std::array<int64_t, kUpToSeconds.size()> counts = {};  ///< jobs that waited at most so long and longer than the one before
  int64_t jobs = 0;
  Duration sum;
};

/// The jobs and machines as of one event, and what happened since the event before.
struct LiveWork {
  std::vector<NodeView> nodes = {};
  std::vector<JobView> running = {};
  std::vector<JobView> started = {};          ///< for the first time; their waits are counted
  std::vector<std::string> interrupted = {};  ///< machines that went down
  int64_t last_event = 0;
};

/// A service as its servers tell it now: the longest p99, the least headroom, all requests.
struct LiveService {
  ServiceFigures figures;
  Instant seen;        ///< the newest word of it
  size_t servers = 0;  ///< that told of it within kStale of that
};

struct LiveSnapshot {
  std::vector<LiveGpu> gpus;    ///< by position
  std::vector<LiveNode> nodes;  ///< ascending by name
  std::vector<LiveSource> sources;
  std::vector<LiveService> services;        ///< ascending by name
  std::map<std::string, LiveWaits> waits;   ///< by queue
  std::optional<LiveHistoryState> history;  ///< none = nothing is kept
  int64_t last_event = 0;                   ///< the number of the newest event that holders and waits are as of
};

/// One metric of one GPU in one minute that had samples.
struct LiveMinute {
  size_t gpu = 0;  ///< position
  Metric metric = Metric::kUtilization;
  Instant begin;
  double mean = 0;
  double max = 0;
  uint32_t samples = 0;
};

/// The 99th percentile of a service's request times in one minute that told it: the mean of what its servers said.
struct LiveServiceMinute {
  std::string service;
  Instant begin;
  double mean = 0;  ///< ms
};

/// "gpu-0:3" (machine and index), or the UUID where there is no index; a MIG slice with ":INSTANCE" behind. Names it in the API.
std::string id_of(const DeviceKey& device);

class LiveTelemetry {
 public:
  struct Options {
    size_t minutes_kept = size_t{24} * 60;
    size_t most_gpus = 10'000;      ///< more are refused; as many machines, as many services
    size_t most_kept = 20'000'000;  ///< minutes × metrics × GPUs, 16 bytes each: with very many GPUs they reach back less far
  };
  LiveTelemetry() = default;
  explicit LiveTelemetry(const Options& options) : options_(options) {}

  // For those who look. From any thread; O(GPUs).
  [[nodiscard]] LiveSnapshot snapshot() const;
  /// The GPU's minutes that begin at or after `from` and are over at `now`, by metric, time. Empty for a position that is not
  /// given out.
  [[nodiscard]] std::vector<LiveMinute> minutes_of(size_t gpu, Instant from, Instant now) const;

  /// Of all services, ascending by name and time.
  [[nodiscard]] std::vector<LiveServiceMinute> service_minutes_since(Instant from, Instant now) const;

  // For collectors. From any thread.
  /// @return what names it in the calls below.
  size_t add_source(LiveSourceKind kind, std::string name);
  /// Those there are are not shown any more; others come in their place.
  void retire_sources();
  void source_succeeded(size_t source, Instant at);
  void source_failed(size_t source, Instant at, std::string error);
  void refused(size_t source, std::string_view why);

  /// The GPU's position: of the one already known by its UUID, else by its machine, index and MIG instance, which then takes what
  /// `device` says more. none: there are most_gpus already.
  std::optional<size_t> gpu(const DeviceKey& device);
  /// @return whether it counts: false when a better source has measured the same within kStale.
  bool put(size_t source, size_t gpu, Metric metric, Instant at, double value);
  bool put_node(const std::string& node, Metric metric, Instant at, double value);
  /// As one of its servers tells it.
  void put_service(size_t source, Instant at, const ServiceFigures& figures);
  /// All processes on a GPU, in place of those of before.
  void put_processes(size_t gpu, Instant at, std::vector<LiveProcess> processes);
  /// Why no job begins on a GPU; empty = one may again.
  void hold_back(const std::string& node, int index, const std::string& why);
  /// Configured GPUs are there from then on, whoever measures them. Who looks sees all of it or nothing.
  void put_work(const LiveWork& work);
  void put_history(LiveHistoryState state);

  /// A reading older than this is not of now any more.
  static constexpr Duration kStale = Duration::minutes(1);

 private:
  struct Minute {
    int32_t number = 0;  // since 1970
    float mean = 0;
    float max = 0;
    uint32_t samples = 0;
  };
  struct Track {
    size_t source = 0;  // that the newest sample came from
    std::deque<Minute> closed;
    int64_t open = INT64_MIN;  // minute in the making
    double sum = 0, max = 0;
    uint32_t samples = 0;
  };
  struct Gpu {
    LiveGpu shown;
    std::array<std::unique_ptr<Track>, kMetricCount> tracks;
  };
  std::optional<size_t> find_or_add(const DeviceKey& device);
  void count_wait(const std::string& queue, Duration wait);
  void close(Track& track) const;
  /// @return false: too late, its minute is written.
  bool add(Track& track, Instant at, double value) const;
  /// Calls visit(begin, mean, max, samples) for those that begin at or after `from` and are over at `now`.
  template <typename Visit>
  static void for_minutes(const Track& track, Instant from, Instant now, Visit&& visit);
  static void minutes_of(const Gpu& gpu, size_t position, Instant from, Instant now, std::vector<LiveMinute>& out);

  Options options_;
  mutable std::mutex mutex_;  // of all below
  std::deque<Gpu> gpus_;
  size_t tracks_ = 0;
  std::map<std::string, size_t, std::less<>> by_uuid_;
  std::map<std::tuple<std::string, int, int>, size_t> by_place_;
  std::map<std::string, LiveNode, std::less<>> nodes_;
  struct Service {
    Track p99;
    std::map<size_t, std::pair<Instant, ServiceFigures>> told;  ///< by source, the newest
  };
  static LiveService seen_together(const Service& service);

  std::map<std::string, Service, std::less<>> services_;
  std::vector<LiveSource> sources_;
  size_t retired_ = 0;  ///< the first so many of them
  std::map<std::string, LiveWaits> waits_;
  std::optional<LiveHistoryState> history_;
  int64_t last_event_ = 0;
};

/// A reading is not shown as one of now any more when it is older.
inline constexpr Duration kLongestShown = Duration::minutes(5);

/// What kind of work a job does: its tag `kind`, else what its name or queue speaks for.
WorkloadKind kind_of(const JobView& job);

}  // namespace stint
