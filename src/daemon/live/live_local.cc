// This machine's GPUs and CPUs.
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>

#include "backends/local/task_folder.h"
#include "backends/local/task_owner.h"
#include "base/text.h"
#include "daemon/live/live_inputs.h"
#include "host/file.h"

namespace stint {
namespace {

/// Between tries to reach a library that is not there: somebody may install a driver meanwhile.
constexpr Duration kLibraryAgainAfter = Duration::seconds(60);
/// nvidia-smi is a separate program and takes a good part of a second.
constexpr Duration kShortestSmi = Duration::seconds(10);
constexpr Duration kSmiPatience = Duration::seconds(10);
/// A process may have been looked at before it became the program it is, and one that had no task before its task was known.
constexpr Duration kLookAgain = Duration::seconds(10);

SeriesKey key_of(const std::string& node, const GpuIdentity& gpu, Metric metric) {
  return {.device = {.node = node, .uuid = gpu.uuid, .index = gpu.index, .model = gpu.name}, .holder = {}, .metric = metric};
}

}  // namespace

LocalGpuInput::LocalGpuInput(const LiveTarget& target, const LiveConfig& config, std::string node,
                             std::shared_ptr<MachineTasks> tasks, TellHealth tell_health)
    : target_(target),
      config_(config),
      tell_health_(std::move(tell_health)),
      node_(std::move(node)),
      source_(target.telemetry.add_source(LiveSourceKind::kNvml, "GPUs of this machine")),
      sink_(target, source_),
      tasks_(std::move(tasks)) {}

Duration LocalGpuInput::look(Instant now) {
  if (!sampler_) {
    GpuSampler::Options options;
    if (!config_.nvml_library.empty()) options.nvml_library = config_.nvml_library;
    options.patience = kSmiPatience;
    auto opened = GpuSampler::open(options);
    if (!opened.ok()) {
      target_.telemetry.source_failed(source_, now, opened.error().message);
      return kLibraryAgainAfter;
    }
    sampler_ = std::move(opened).value();
    series_.clear();
    places_.clear();
    parts_.clear();
    for (const GpuIdentity& gpu : sampler_->gpus()) {
      std::vector<SeriesId>& series = series_.emplace_back();
      for (const ReadingField& field : reading_fields())
        series.push_back(sink_.series(key_of(node_, gpu, field.metric)));
      places_.push_back(target_.telemetry.gpu(key_of(node_, gpu, Metric::kUtilization).device));
    }
  }
  const bool by_program = sampler_->source() == "nvidia-smi";
  const auto looks = sampler_->look();
  if (!looks.ok()) {
    target_.telemetry.source_failed(source_, now, looks.error().message);
    tell_health(looks.error().message);
    sampler_.reset();
    return kLibraryAgainAfter;
  }
  std::string failure;
  for (size_t i = 0; i < looks->size(); ++i) {
    if (!(*looks)[i].reading.ok()) failure = (*looks)[i].reading.error().message;
    put(i, (*looks)[i], now);
  }
  tell_health(failure);
  put_parts(*looks, now);
  std::erase_if(processes_, [now](const auto& process) { return now - process.second.looked_at > kLibraryAgainAfter; });
  if (failure.empty())
    target_.telemetry.source_succeeded(source_, now);
  else
    target_.telemetry.source_failed(source_, now, failure);
  return by_program ? std::max(config_.every, kShortestSmi) : config_.every;
}

/// A driver that was never there is no failure of GPUs. That all answer is told at first, too: an input before this one may have told of
/// a failure.
void LocalGpuInput::tell_health(const std::string& failure) {
  if (told_health_ == failure || (!told_health_ && !failure.empty())) return;
  if (tell_health_) tell_health_(failure);
  told_health_ = failure;
}

void LocalGpuInput::put(size_t position, const GpuLook& look, Instant now) {
  if (look.reading.ok())
    for (size_t f = 0; f < series_[position].size(); ++f)
      if (const auto value = reading_fields()[f].get(*look.reading)) {
        const Sample sample{now, *value};
        sink_.samples(series_[position][f], {&sample, 1});
      }
  if (!look.processes.ok() || !places_[position]) return;
  std::vector<LiveProcess> processes;
  for (const GpuProcess& process : *look.processes)
    processes.push_back(named(process, now));
  target_.telemetry.put_processes(*places_[position], now, std::move(processes));
}

const LocalGpuInput::Part& LocalGpuInput::part_of(const MigDevice& device) {
  const auto [it, fresh] = parts_.try_emplace({device.gpu, device.instance, device.profile});
  if (!fresh) return it->second;
  const GpuIdentity& whole = sampler_->gpus()[device.gpu];
  SeriesKey key = key_of(node_, whole, Metric::kMemoryUsed);
  key.device.mig_instance = device.instance;
  key.device.mig_profile = device.profile;
  it->second.memory_used = sink_.series(key);
  it->second.place = target_.telemetry.gpu(key.device);
  key.metric = Metric::kMemoryTotal;
  it->second.memory_total = sink_.series(key);
  return it->second;
}

/// What NVML tells of parts is their memory, and who computes there; the rest it tells of the whole alone.
void LocalGpuInput::put_parts(const std::vector<GpuLook>& looks, Instant now) {
  for (const MigDevice& device : sampler_->mig_devices()) {
    const Part& part = part_of(device);
    const auto put_size = [&](SeriesId series, const std::optional<Bytes>& size) {
      if (!size) return;
      const Sample sample{now, static_cast<double>(size->count())};
      sink_.samples(series, {&sample, 1});
    };
    put_size(part.memory_used, device.memory_used);
    put_size(part.memory_total, device.memory_total);
    const auto& all = looks[device.gpu].processes;
    if (!part.place || !all.ok()) continue;
    std::vector<LiveProcess> processes;
    for (const GpuProcess& process : *all)
      if (process.mig_instance == device.instance) processes.push_back(named(process, now));
    target_.telemetry.put_processes(*part.place, now, std::move(processes));
  }
}

namespace {

/// As the system calls it.
std::string system_account_of(int64_t pid) {
  struct stat info = {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0) return "";
  std::vector<char> buffer(65536);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwuid_r(info.st_uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return entry.pw_name;
  return fmt::format("uid {}", info.st_uid);
}

}  // namespace

LiveProcess LocalGpuInput::named(const GpuProcess& process, Instant now) {
  // A number is given again, but not with the same time of start.
  const int64_t ticks = start_ticks_of(process.pid).value_or(0);
  const auto [it, fresh] = processes_.try_emplace(process.pid);
  Process& known = it->second;
  const bool same = !fresh && known.start_ticks == ticks;
  if (!same || now - known.looked_at >= kLookAgain) {
    known.command = program_of(process.pid);
    const ProcessOwner owner = tasks_->owner_of(process.pid);
    known.account = owner.account.empty() ? system_account_of(process.pid) : owner.account;
    if (!same || !known.owner) known.owner = owner.launch;
    known.start_ticks = ticks;
    known.looked_at = now;
  }
  LiveProcess live{.pid = process.pid, .command = known.command, .memory_used = process.memory_used};
  live.account = known.account;
  if (known.owner) {
    live.job = known.owner->job;
    live.attempt = known.owner->attempt;
    live.task = known.owner->task;
  }
  return live;
}

HostCpuInput::HostCpuInput(const LiveTarget& target, std::string node)
    : target_(target),
      source_(target.telemetry.add_source(LiveSourceKind::kHost, "CPUs of this machine")),
      sink_(target, source_),
      series_(sink_.series({.device = {.node = std::move(node)}, .holder = {}, .metric = Metric::kHostCpu})) {}

Duration HostCpuInput::look(Instant now) {
  constexpr Duration kEvery = Duration::seconds(15);
  const std::string stat = read_kernel_file("/proc/stat");
  // cpu  user nice system idle iowait irq softirq steal …; guests are in user. Source: proc(5).
  const std::string_view line = std::string_view(stat).substr(0, stat.find('\n'));
  std::vector<int64_t> ticks;
  for (const std::string_view word : split(line, ' '))
    if (const auto number = parse_int(word)) ticks.push_back(*number);
  if (ticks.size() < 8) {
    target_.telemetry.source_failed(source_, now, "/proc/stat cannot be read");
    return kEvery;
  }
  int64_t total = 0;
  for (size_t i = 0; i < 8; ++i)
    total += ticks[i];
  const int64_t busy = total - ticks[3] - ticks[4];
  if (total_ > 0 && total > total_) {
    const Sample sample{now, 100.0 * static_cast<double>(busy - busy_) / static_cast<double>(total - total_)};
    sink_.samples(series_, {&sample, 1});
  }
  busy_ = busy;
  total_ = total;
  target_.telemetry.source_succeeded(source_, now);
  return kEvery;
}

}  // namespace stint
