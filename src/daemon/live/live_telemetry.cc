#include "daemon/live/live_telemetry.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace stint {
namespace {

/// A sample that far behind the newest is no late one.
constexpr int64_t kClockStepMinutes = 5;

int64_t minute_of(Instant at) { return at.seconds() / 60 - (at.seconds() % 60 < 0 ? 1 : 0); }

/// The key of a MIG slice's or GPU's UUID: slices carry that of their GPU.
std::string uuid_key(const DeviceKey& device) {
  return device.mig_instance < 0 ? device.uuid : fmt::format("{}/{}", device.uuid, device.mig_instance);
}

std::tuple<std::string, int, int> place_of(const DeviceKey& device) { return {device.node, device.index, device.mig_instance}; }

}  // namespace

std::string_view name_of(LiveSourceKind kind) {
  switch (kind) {
    case LiveSourceKind::kNvml: return "nvml";
    case LiveSourceKind::kNvidiaSmi: return "nvidia-smi";
    case LiveSourceKind::kExporter: return "exporter";
    case LiveSourceKind::kPrometheus: return "prometheus";
    case LiveSourceKind::kHost: return "host";
    case LiveSourceKind::kSimulated: return "simulated";
  }
  return "unknown";
}

std::string id_of(const DeviceKey& device) {
  std::string id = device.index >= 0 ? fmt::format("{}:{}", device.node, device.index) : device.uuid;
  if (device.mig_instance >= 0) id += fmt::format(":{}", device.mig_instance);
  return id;
}

WorkloadKind kind_of(const JobView& job) {
  for (const auto& [name, value] : job.tags)
    if (name == "kind")
      if (const auto kind = parse_workload_kind(value); kind.ok()) return *kind;
  const WorkloadKind by_name = guess_workload_kind(job.name);
  return by_name != WorkloadKind::kUnknown ? by_name : guess_workload_kind(job.queue);
}

LiveSnapshot LiveTelemetry::snapshot() const {
  const std::lock_guard lock(mutex_);
  LiveSnapshot all;
  all.gpus.reserve(gpus_.size());
  for (const Gpu& gpu : gpus_)
    all.gpus.push_back(gpu.shown);
  for (const auto& [name, node] : nodes_)
    all.nodes.push_back(node);
  all.sources.assign(sources_.begin() + static_cast<std::ptrdiff_t>(retired_), sources_.end());
  for (const auto& [name, service] : services_)
    all.services.push_back(seen_together(service));
  all.waits = waits_;
  all.history = history_;
  all.last_event = last_event_;
  return all;
}

template <typename Visit>
void LiveTelemetry::for_minutes(const Track& track, Instant from, Instant now, Visit&& visit) {
  const auto look = [&](int64_t number, double mean, double max, uint32_t samples) {
    const Instant begin = Instant::from_seconds(number * 60);
    if (begin >= from && number < minute_of(now)) visit(begin, mean, max, samples);
  };
  const auto first = std::ranges::lower_bound(track.closed, minute_of(from), {}, &Minute::number);
  for (auto it = first; it != track.closed.end(); ++it)
    look(it->number, it->mean, it->max, it->samples);
  if (track.samples > 0) look(track.open, track.sum / track.samples, track.max, track.samples);
}

void LiveTelemetry::minutes_of(const Gpu& gpu, size_t position, Instant from, Instant now, std::vector<LiveMinute>& out) {
  for (size_t m = 0; m < kMetricCount; ++m)
    if (gpu.tracks[m])
      for_minutes(*gpu.tracks[m], from, now, [&](Instant begin, double mean, double max, uint32_t samples) {
        out.push_back(
            {.gpu = position, .metric = static_cast<Metric>(m), .begin = begin, .mean = mean, .max = max, .samples = samples});
      });
}

std::vector<LiveServiceMinute> LiveTelemetry::service_minutes_since(Instant from, Instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<LiveServiceMinute> minutes;
  for (const auto& [name, service] : services_)
    for_minutes(service.p99, from, now,
                [&](Instant begin, double mean, double, uint32_t) { minutes.push_back({name, begin, mean}); });
  return minutes;
}

std::vector<LiveMinute> LiveTelemetry::minutes_of(size_t gpu, Instant from, Instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<LiveMinute> minutes;
  if (gpu < gpus_.size()) minutes_of(gpus_[gpu], gpu, from, now, minutes);
  return minutes;
}

size_t LiveTelemetry::add_source(LiveSourceKind kind, std::string name) {
  const std::lock_guard lock(mutex_);
  sources_.push_back({.kind = kind, .name = std::move(name)});
  return sources_.size() - 1;
}

void LiveTelemetry::retire_sources() {
  const std::lock_guard lock(mutex_);
  retired_ = sources_.size();
}

void LiveTelemetry::source_succeeded(size_t source, Instant at) {
  const std::lock_guard lock(mutex_);
  sources_[source].tried = sources_[source].succeeded = at;
}

void LiveTelemetry::source_failed(size_t source, Instant at, std::string error) {
  const std::lock_guard lock(mutex_);
  sources_[source].tried = sources_[source].failed = at;
  sources_[source].error = std::move(error);
}

void LiveTelemetry::refused(size_t source, std::string_view why) {
  const std::lock_guard lock(mutex_);
  ++sources_[source].refused;
  sources_[source].refusal = why;
}

void LiveTelemetry::hold_back(const std::string& node, int index, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find_or_add({.node = node, .index = index})) gpus_[*found].shown.held_back = why;
}

std::optional<size_t> LiveTelemetry::gpu(const DeviceKey& device) {
  const std::lock_guard lock(mutex_);
  return find_or_add(device);
}

std::optional<size_t> LiveTelemetry::find_or_add(const DeviceKey& device) {
  std::optional<size_t> found;
  if (!device.uuid.empty())
    if (const auto it = by_uuid_.find(uuid_key(device)); it != by_uuid_.end()) found = it->second;
  // At this place, unless that is a board with another UUID: then the board was exchanged, and this is a new one.
  if (!found && device.index >= 0)
    if (const auto it = by_place_.find(place_of(device)); it != by_place_.end()) {
      const std::string& known = gpus_[it->second].shown.device.uuid;
      if (known.empty() || device.uuid.empty() || known == device.uuid) found = it->second;
    }
  if (!found) {
    if (gpus_.size() >= options_.most_gpus) return std::nullopt;
    found = gpus_.size();
    gpus_.emplace_back().shown.device = device;
  }
  DeviceKey& known = gpus_[*found].shown.device;
  if (known.uuid.empty()) known.uuid = device.uuid;
  if (known.index < 0 && known.node == device.node) known.index = device.index;
  if (!device.model.empty()) known.model = device.model;
  if (!device.mig_profile.empty()) known.mig_profile = device.mig_profile;
  if (!known.uuid.empty()) by_uuid_[uuid_key(known)] = *found;
  if (known.index >= 0) by_place_[place_of(known)] = *found;
  return found;
}

void LiveTelemetry::close(Track& track) const {
  if (track.samples == 0) return;
  track.closed.push_back({.number = static_cast<int32_t>(track.open),
                          .mean = static_cast<float>(track.sum / track.samples),
                          .max = static_cast<float>(track.max),
                          .samples = track.samples});
  const size_t room = std::min(options_.minutes_kept, options_.most_kept / std::max<size_t>(tracks_, 1));
  while (track.closed.size() > std::max<size_t>(room, 2))
    track.closed.pop_front();
  // Minutes without samples are not in the list: age counts, too.
  while (track.closed.front().number <= track.open - static_cast<int64_t>(options_.minutes_kept))
    track.closed.pop_front();
}

bool LiveTelemetry::add(Track& track, Instant at, double value) const {
  const int64_t minute = minute_of(at);
  if (minute < track.open) {
    if (track.open - minute < kClockStepMinutes) return false;
    track.closed.clear();  // the clock was set back, or had been ahead
    track.open = INT64_MIN;
    track.samples = 0;
  }
  if (minute > track.open) {
    close(track);
    track.open = minute;
    track.sum = track.max = 0;
    track.samples = 0;
  }
  track.max = track.samples == 0 ? value : std::max(track.max, value);
  track.sum += value;
  ++track.samples;
  return true;
}

bool LiveTelemetry::put(size_t source, size_t gpu, Metric metric, Instant at, double value) {
  const std::lock_guard lock(mutex_);
  Gpu& g = gpus_[gpu];
  std::unique_ptr<Track>& track = g.tracks[static_cast<size_t>(metric)];
  std::optional<LiveValue>& latest = g.shown.latest[static_cast<size_t>(metric)];
  const LiveSource& from = sources_[source];
  const bool other = track && track->source != source && track->source >= retired_;
  if (other && sources_[track->source].kind <= from.kind && latest && at - latest->at < kStale) return false;
  if (!track) {
    track = std::make_unique<Track>();
    ++tracks_;
  }
  if (!add(*track, at, value)) return false;
  track->source = source;
  latest = LiveValue{value, at};
  ++sources_[source].samples;
  if (!g.shown.seen || *g.shown.seen <= at) {
    g.shown.seen = at;
    g.shown.source = from.name;
    g.shown.simulated = from.kind == LiveSourceKind::kSimulated;
  }
  return true;
}

bool LiveTelemetry::put_node(const std::string& node, Metric metric, Instant at, double value) {
  const std::lock_guard lock(mutex_);
  auto it = nodes_.find(node);
  if (it == nodes_.end()) {
    if (nodes_.size() >= options_.most_gpus) return false;
    it = nodes_.emplace(node, LiveNode{.name = node}).first;
  }
  it->second.latest[static_cast<size_t>(metric)] = LiveValue{value, at};
  return true;
}

void LiveTelemetry::put_service(size_t source, Instant at, const ServiceFigures& figures) {
  const std::lock_guard lock(mutex_);
  auto it = services_.find(figures.service);
  if (it == services_.end()) {
    if (services_.size() >= options_.most_gpus) {
      ++sources_[source].refused;
      sources_[source].refusal = "more services than are kept";
      return;
    }
    it = services_.emplace(figures.service, Service()).first;
    ++tracks_;
  }
  Service& service = it->second;
  service.told[source] = {at, figures};
  std::erase_if(service.told, [at](const auto& told) { return told.second.first + kStale < at; });
  if (figures.p99_ms && add(service.p99, at, *figures.p99_ms)) ++sources_[source].samples;
}

LiveService LiveTelemetry::seen_together(const Service& service) {
  LiveService all;
  const auto join = [](std::optional<double>& to, std::optional<double> from, auto together) {
    if (from) to = to ? together(*to, *from) : *from;
  };
  for (const auto& [source, told] : service.told) {
    const auto& [at, figures] = told;
    all.figures.service = figures.service;
    join(all.figures.p99_ms, figures.p99_ms, [](double a, double b) { return std::max(a, b); });
    join(all.figures.headroom, figures.headroom, [](double a, double b) { return std::min(a, b); });
    join(all.figures.per_second, figures.per_second, [](double a, double b) { return a + b; });
    all.seen = all.servers == 0 ? at : std::max(all.seen, at);
    ++all.servers;
  }
  return all;
}

void LiveTelemetry::put_processes(size_t gpu, Instant at, std::vector<LiveProcess> processes) {
  const std::lock_guard lock(mutex_);
  gpus_[gpu].shown.processes = std::move(processes);
  gpus_[gpu].shown.processes_seen = at;
}

void LiveTelemetry::put_history(LiveHistoryState state) {
  const std::lock_guard lock(mutex_);
  history_ = std::move(state);
}

void LiveTelemetry::count_wait(const std::string& queue, Duration wait) {
  LiveWaits& waits = waits_[queue];
  const auto bucket = std::ranges::lower_bound(LiveWaits::kUpToSeconds, wait, {}, Duration::seconds);
  if (bucket != LiveWaits::kUpToSeconds.end()) ++waits.counts[static_cast<size_t>(bucket - LiveWaits::kUpToSeconds.begin())];
  ++waits.jobs;
  waits.sum += wait;
}

void LiveTelemetry::put_work(const LiveWork& work) {
  const std::lock_guard lock(mutex_);
  last_event_ = work.last_event;
  for (Gpu& gpu : gpus_)
    gpu.shown.holders.clear();
  for (const NodeView& node : work.nodes) {
    LiveNode& live = nodes_[node.name];
    live.name = node.name;
    live.market = node.market;
    for (int i = 0; i < node.gpus; ++i)
      if (const auto position = find_or_add({.node = node.name, .index = i})) {
        LiveGpu& gpu = gpus_[*position].shown;
        gpu.memory = node.gpu_memory;
        if (gpu.device.model.empty()) gpu.device.model = node.gpu_model;
      }
  }
  for (const std::string& name : work.interrupted)
    if (const auto it = nodes_.find(name); it != nodes_.end()) ++it->second.interruptions;
  for (const JobView& job : work.started)
    if (job.first_started) count_wait(job.queue, *job.first_started - job.submitted);
  // "3g.40gb" is three of seven parts.
  const auto milli_of = [](const TaskView& task) -> int32_t {
    if (task.gpu_milli > 0 || task.mig_profile.empty()) return task.gpu_milli > 0 ? task.gpu_milli : 1000;
    const auto parts = parse_int(std::string_view(task.mig_profile).substr(0, task.mig_profile.find('g')));
    return static_cast<int32_t>(std::clamp<int64_t>(parts.value_or(7), 1, 7) * 1000 / 7);
  };
  for (const JobView& job : work.running)
    for (const TaskView& task : job.placed)
      for (const int index : task.gpus) {
        const auto it = by_place_.find({task.node, index, -1});
        if (it == by_place_.end()) continue;
        gpus_[it->second].shown.holders.push_back({.job = job.id,
                                                   .number = job.number,
                                                   .array_index = job.array > 0 ? ArrayIndex(job.array_index) : std::nullopt,
                                                   .attempt = task.attempt,
                                                   .task = task.task,
                                                   .gpu_milli = milli_of(task),
                                                   .mig_profile = task.mig_profile,
                                                   .name = job.name,
                                                   .queue = job.queue,
                                                   .client = job.client,
                                                   .user = job.user,
                                                   .kind = kind_of(job),
                                                   .since = task.started});
      }
}

bool is_uninvited(const LiveGpu& gpu, const LiveProcess& process) {
  if (process.job == 0) return true;
  // A job that takes any MIG device of its machine holds none by name.
  return gpu.device.mig_instance < 0 && std::ranges::find(gpu.holders, process.job, &LiveHolder::job) == gpu.holders.end();
}

int64_t uninvited_processes(const LiveGpu& gpu) {
  return std::ranges::count_if(gpu.processes, [&](const LiveProcess& process) { return is_uninvited(gpu, process); });
}

}  // namespace stint
