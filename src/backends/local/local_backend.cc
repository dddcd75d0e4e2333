#include "backends/local/local_backend.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "backends/local/device_group.h"
#include "backends/local/keeper.h"
#include "backends/local/kept_logs.h"
#include "backends/local/mig_grants.h"
#include "backends/output_order.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

// Above the numbers a keeper finds its own at, so that moving one there does not close the other.
constexpr int kOutOfTheWay = 10;

Status make_folder(const std::string& path, mode_t mode) {
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return make_error(ErrorCode::kUnavailable, "{}: cannot be made: {}", path, std::strerror(errno));
}

/// @param what  is to run so.
Status check_may_become(const std::optional<RunAs>& user, const std::string& what) {
  if (user && ::geteuid() != 0 && user->uid != ::geteuid())
    return invalid("{}: to run as user {} the daemon would have to be root", what, user->uid);
  return {};
}

/// File actions and attributes of posix_spawn, given back at the end.
struct SpawnSettings {
  posix_spawn_file_actions_t actions = {};
  posix_spawnattr_t attributes = {};
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

LocalBackend::LocalBackend(Options options) : options_(std::move(options)) {}

LocalBackend::~LocalBackend() { bury_keepers(); }

Result<std::unique_ptr<LocalBackend>> LocalBackend::create(Options options) {
  CHECK(!options.keeper.empty(), "no keeper");
  std::error_code failed;
  options.state_folder = fs::absolute(options.state_folder, failed).lexically_normal().string();
  auto backend = std::unique_ptr<LocalBackend>(new LocalBackend(std::move(options)));
  const Options& o = backend->options_;
  TRY(check_may_become(o.run_as, "tasks"));
  TRY(make_folder(o.state_folder, 0711));
  TRY(make_folder(o.state_folder + "/tasks", 0700));
  TRY(make_folder(o.state_folder + "/logs", 0700));
  if (!o.cgroup.empty()) {
    auto tree = CgroupTree::open(o.cgroup);
    if (tree.ok())
      backend->cgroups_ = std::move(tree).value();
    else
      backend->why_no_cgroups_ = tree.error().message;
  }
  if (const Status filter = try_device_filter(); backend->cgroups_ && !filter.ok())
    backend->why_no_device_filter_ = filter.error().message;
  TRY_ASSIGN(
      backend->handover_,
      GpuHandover::open({.book = o.state_folder + "/gpu-clients.json", .scrub = o.scrub, .clear = o.clear, .tell = o.tell_held}));
  TRY(backend->give_accounts());
  fs::directory_iterator it(o.state_folder + "/tasks", failed);
  for (const fs::directory_iterator end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    // Drafts that were not finished, and what was forgotten and not yet taken away.
    if (name.starts_with(".")) fs::remove_all(it->path(), ignored);
    if (const auto key = parse_key(name)) backend->tasks_[*key].keeper_expected = TaskFolder(it->path().string()).is_claimed();
  }
  if (failed) return make_error(ErrorCode::kUnavailable, "{}/tasks: cannot be read: {}", o.state_folder, failed.message());
  return backend;
}

bool LocalBackend::keeps_apart() const {
  return accounts_ || (options_.run_as && options_.run_as->uid != ::geteuid() && options_.run_as->uid != 0);
}

Status LocalBackend::give_accounts() {
  if (options_.accounts) {
    TRY_ASSIGN(AccountBook book, AccountBook::open(options_.accounts->book, options_.accounts->range));
    accounts_ = std::move(book);
  }
  if (!keeps_apart()) return {};
  if (!cgroups_ || !why_no_device_filter_.empty())
    if (auto groups = find_device_groups(); groups.ok()) device_groups_ = std::move(*groups);
  means_ = find_room_means(accounts_ ? options_.accounts->range.first : options_.run_as->uid);
  homes_ = options_.homes.empty() ? options_.state_folder + "-jobs" : options_.homes;
  if (!accounts_ && !means_.mounts) return {};  // no folder is needed
  TRY(make_folder(homes_, 0711));
  TRY(make_folder(homes_ + "/.tmp", 0700));
  return accounts_ ? check_reachable(homes_, means_) : Status();
}

std::vector<std::string> LocalBackend::notes() const {
  std::vector<std::string> notes;
  if (!accounts_ && keeps_apart())
    notes.push_back(
        fmt::format("Jobs of all users run as user {} (--jobs-as): they can read each other's environment and files, share a "
                    "home, and can end each other's processes. --jobs-as-range gives each user an account.",
                    options_.run_as->uid));
  if (keeps_apart()) means_.tell(accounts_.has_value(), notes);
  if (const uint32_t own = ::geteuid(); !keeps_apart())
    notes.push_back(fmt::format(
        "Jobs run as {} (--insecure-shared-user): whoever submits one can read the daemon's tokens, act as operator, and "
        "read and end the jobs of all others.",
        own == 0                                       ? "root, as the daemon does"
        : options_.run_as && options_.run_as->uid == 0 ? "root"
                                                       : "the daemon's own user"));
  if (!keeps_apart() && !all_gpu_files({}).empty())
    notes.push_back(
        "GPUs are granted by CUDA_VISIBLE_DEVICES alone, as jobs have the daemon's account: a job can use GPUs that it was not "
        "given, "
        "unbilled.");
  if (keeps_apart() && cgroups_ && !why_no_device_filter_.empty() && device_groups_.empty())
    notes.push_back(fmt::format(
        "No device filter ({}): GPUs that a job was not given are missing in its /dev; a device file made elsewhere by root "
        "would open them.",
        why_no_device_filter_));
  if (!(cgroups_ && cgroups_->limits_memory) && !options_.usual_memory)
    notes.push_back(
        "A job that names no memory can take all of the machine's: without a memory controller there is no limit by its share. "
        "--job-memory sets one.");
  if (!cgroups_)
    notes.push_back(
        fmt::format("No cgroups ({}): memory is limited for each process by itself and not for a task as a whole, "
                    "CPU not at all.",
                    options_.cgroup.empty() ? "none named with --cgroup" : why_no_cgroups_));
  if (cgroups_ && !cgroups_->limits_memory)
    notes.push_back(
        fmt::format("{}: without a memory controller: memory is limited for each process by itself and not for a "
                    "task as a whole.",
                    cgroups_->folder));
  if (cgroups_ && !cgroups_->limits_cpu)
    notes.push_back(fmt::format("{}: without a cpu controller: CPU is not limited.", cgroups_->folder));
  if (options_.most_processes > 0 && !(cgroups_ && cgroups_->limits_processes))
    notes.push_back(
        keeps_apart()
            ? fmt::format("No pids controller: the limit of {} processes holds for all of {} together, not for each task.",
                          options_.most_processes,
                          accounts_ ? "a user's tasks" : fmt::format("the processes of user {}", options_.run_as->uid))
            : std::string("No pids controller: the number of processes is not limited, and one job can take all that "
                          "the machine has."));
  if (!handover_->why_not().empty())
    notes.push_back(fmt::format("GPU memory is not checked between tenants ({}).", handover_->why_not()));
  if (!handover_->scrubs() && !all_gpu_files({}).empty())
    notes.push_back(
        "GPU memory is not scrubbed between clients: what a driver leaves there of one could be read by the next. --gpu-scrub "
        "names a "
        "program that overwrites it.");
  return notes;
}

TaskFolder LocalBackend::folder_of(const LaunchKey& key) const {
  return TaskFolder(fmt::format("{}/tasks/{}", options_.state_folder, format_key(key)));
}

std::string LocalBackend::log_base(const std::string& state_folder, const LaunchKey& key) {
  return fmt::format("{}/logs/{}", state_folder, format_key(key));
}

/// With a name of this state folder's: another daemon has tasks of the same keys.
std::string LocalBackend::device_group_of(const LaunchKey& key) const {
  return fmt::format("{}/stint-{}-{}", device_groups_, sha256_hex(options_.state_folder).substr(0, 8), format_key(key));
}

TaskPlan LocalBackend::plan_of(const Launch& launch) const {
  const std::string name = format_key(launch.key);
  TaskPlan plan{.launch = launch,
                .cgroup = cgroups_ ? fmt::format("{}/task-{}", cgroups_->folder, name) : "",
                .log_base = log_base(options_.state_folder, launch.key),
                .room = {},
                .most_processes = options_.most_processes,
                .keep_free = options_.keep_free,
                .most_log = options_.most_log};
  if (plan.launch.memory == Bytes()) {
    const Bytes share = cgroups_ && cgroups_->limits_memory ? launch.memory_share : Bytes();
    plan.launch.memory = options_.usual_memory.value_or(share);
  }
  if (!plan.launch.run_as) plan.launch.run_as = options_.run_as;
  if (!keeps_apart()) return plan;
  if (accounts_) plan.room.home = fmt::format("{}/{}", homes_, plan.launch.run_as->uid);
  if (means_.mounts) plan.room.temporary = fmt::format("{}/.tmp/{}", homes_, name);
  plan.room.hides_processes = means_.hides;
  plan.room.own_devices = means_.mounts;
  plan.room.filters_devices = cgroups_ && why_no_device_filter_.empty();
  if (!device_groups_.empty()) plan.room.device_group = device_group_of(launch.key);
  plan.room.gpu_files = gpu_files_of(launch.gpus, mig_instances_of(launch.gpus, options_.clear), {});
  plan.room.more_devices = options_.more_devices;
  return plan;
}

/// By tasks that have not ended: what they were granted is in their folders, also after a restart.
LocalBackend::TakenGpus LocalBackend::gpus_taken() const {
  TakenGpus taken;
  for (const auto& [key, task] : tasks_) {
    if (task.told == Told::kEnd) continue;
    const TaskFolder folder = folder_of(key);
    const auto ended = folder.ended();
    if (ended.ok() && ended->has_value()) continue;
    const auto text = read_all(folder.launch_file());
    if (!text.ok()) continue;
    const auto plan = parse_task_plan(*text, folder.launch_file());
    if (!plan.ok()) continue;
    for (const GrantedGpu& gpu : plan->launch.gpus) {
      if (gpu.mig_uuid.empty())
        (plan->launch.tenancy == Tenancy::kAlone ? taken.alone : taken.indexes).insert(gpu.index);
      else
        taken.mig_devices.insert(gpu.mig_uuid);
    }
  }
  taken.indexes.insert(taken.alone.begin(), taken.alone.end());
  return taken;
}

Status LocalBackend::check_can_run(const Launch& launch) {
  TRY(check_launch(launch));
  TRY(check_may_become(launch.run_as, fmt::format("launch {}", format_key(launch.key))));
  return {};
}

/// Which MIG devices it has, where it asks for any; and all of them are clean, or were its client's before.
Status LocalBackend::give_gpus(Launch& launch, Instant now) {
  if (launch.gpus.empty()) return {};
  TakenGpus taken = gpus_taken();
  if (asks_for_mig_device(launch.gpus)) TRY(grant_mig_devices(launch.gpus, taken.mig_devices, options_.clear));
  for (const GrantedGpu& gpu : launch.gpus)
    if (options_.alone_is_alone && gpu.mig_uuid.empty() &&
        (launch.tenancy == Tenancy::kAlone ? taken.indexes : taken.alone).contains(gpu.index))
      return make_error(ErrorCode::kUnavailable, "launch {}: another task has GPU {}", format_key(launch.key), gpu.index);
  if (launch.tenancy == Tenancy::kAlone) taken.indexes.clear();
  return handover_->take(launch, taken.indexes, now);
}

Status LocalBackend::start(const Launch& launch, Instant now) {
  const auto known = tasks_.find(launch.key);
  const TaskFolder folder = folder_of(launch.key);
  if (known != tasks_.end() && (known->second.keeper_expected || folder.is_claimed())) {
    known->second.keeper_expected = true;
    return {};
  }
  TRY(check_can_run(launch));
  if (known == tasks_.end()) {
    Launch granted = launch;
    if (accounts_ && !granted.run_as) {
      TRY_ASSIGN(granted.run_as, accounts_->account_of(granted.owner));
    }
    TRY(give_gpus(granted, now));
    TRY(folder.create(plan_of(granted)));
  }
  if (const Status started = start_keeper(folder); !started.ok()) {
    std::error_code ignored;
    fs::remove_all(folder.path(), ignored);
    tasks_.erase(launch.key);
    return started;
  }
  tasks_[launch.key].keeper_expected = true;
  return {};
}

Status LocalBackend::start_keeper(const TaskFolder& folder) {
  TRY_ASSIGN(const Descriptor lock, folder.take_lock());
  if (!lock.valid()) return {};  // an earlier daemon's keeper is there and about to claim it
  TRY_ASSIGN(const Descriptor control, folder.open_control());
  const Descriptor high_lock(::fcntl(lock.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
  const Descriptor high_control(::fcntl(control.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, STDIN_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, STDIN_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, high_lock.get(), kKeeperLock);
  posix_spawn_file_actions_adddup2(&settings.actions, high_control.get(), kKeeperControl);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setsigdefault(&settings.attributes, &all);
  // A separate session: what is sent to the daemon's group does not reach it.
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& part : options_.keeper)
    arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(const_cast<char*>(folder.path().c_str()));
  arguments.push_back(nullptr);
  std::string path = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* environment[] = {path.data(), nullptr};
  pid_t pid = -1;
  const int code = ::posix_spawnp(&pid, arguments[0], &settings.actions, &settings.attributes, arguments.data(), environment);
  if (code != 0)
    return make_error(ErrorCode::kUnavailable, "{}: a keeper cannot be started: {}", options_.keeper[0], std::strerror(code));
  keepers_.push_back(pid);
  return {};
}

Status LocalBackend::signal(const LaunchKey& key, int signal) {
  if (!tasks_.contains(key)) return never_started(key);
  const Status told = folder_of(key).tell_keeper(signal_request(signal));
  if (!told.ok() && told.error().code != ErrorCode::kNotFound) return told;
  return {};  // without a keeper there is nothing left to take it
}

Status LocalBackend::stop(const LaunchKey& key, Duration grace, Instant) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return never_started(key);
  const TaskFolder folder = folder_of(key);
  const Status told = folder.tell_keeper(stop_request(grace));
  if (told.ok() || told.error().code != ErrorCode::kNotFound) return told;
  // Launched by an earlier daemon that died before the keeper was there: it ends before it begins.
  TRY_ASSIGN(const Descriptor lock, folder.take_lock());
  if (!lock.valid() || found->second.keeper_expected) return {};
  TRY_ASSIGN(const bool ours, folder.claim());
  if (!ours) return {};
  found->second.keeper_expected = true;
  return write_file_atomically(folder.ended_file(), to_json(TaskEnded{.when = this_moment(),
                                                                      .status = {.code = 0, .signal = SIGTERM},
                                                                      .cause = EndCause::kStopped,
                                                                      .detail = "stopped before it began"}));
}

std::vector<Report> LocalBackend::poll(Instant now) {
  bury_keepers();
  handover_->look(now);
  std::vector<Report> reports;
  for (auto& [key, task] : tasks_)
    if (task.told != Told::kEnd) look_at(key, task, now, reports);
  std::sort(reports.begin(), reports.end(),
            [](const Report& a, const Report& b) { return std::tie(a.at, a.key, a.kind) < std::tie(b.at, b.key, b.kind); });
  return reports;
}

void LocalBackend::look_at(const LaunchKey& key, Task& task, Instant now, std::vector<Report>& reports) {
  const TaskFolder folder = folder_of(key);
  // In this order: a keeper writes the end before it lets go of the lock.
  const bool kept = folder.is_locked();
  if (task.told == Told::kNothing) {
    const auto started = folder.started();
    if (started.ok() && *started) {
      task.told = Told::kStart;
      task.began = on_clock((*started)->when, now);
      reports.push_back({.kind = ReportKind::kStarted, .key = key, .at = task.began});
    }
  }
  // Of another daemon, it may have begun since this object first looked.
  if (!task.keeper_expected) task.keeper_expected = folder.is_claimed();
  if (kept || !task.keeper_expected) return;
  const auto ended = folder.ended();
  if (ended.ok() && *ended) {
    task.told = Told::kEnd;
    const TaskEnded& e = **ended;
    reports.push_back({.kind = ReportKind::kEnded,
                       .key = key,
                       .at = std::max(on_clock(e.when, now), task.began),  // the two looks may have had clocks that differ
                       .status = e.status,
                       .cause = e.cause,
                       .detail = e.detail,
                       .usage = e.usage});
    return;
  }
  if (anything_left(folder, key)) return;
  task.told = Told::kEnd;
  reports.push_back({.kind = ReportKind::kLost,
                     .key = key,
                     .at = std::max(now, task.began),
                     .detail = ended.ok() ? "its keeper is gone and left no word of how it ended" : ended.error().message});
}

bool LocalBackend::anything_left(const TaskFolder& folder, const LaunchKey& key) const {
  const auto started = folder.started();
  const TaskCgroup cgroup(cgroups_ ? fmt::format("{}/task-{}", cgroups_->folder, format_key(key)) : "");
  cgroup.kill_all();
  const auto left = processes_of(folder, started.ok() ? *started : std::nullopt);
  for (const int64_t pid : left)
    ::kill(static_cast<pid_t>(pid), SIGKILL);
  if (!left.empty() || !cgroup.processes().empty()) return true;
  cgroup.remove();
  return false;
}

std::vector<LaunchKey> LocalBackend::running() const {
  std::vector<LaunchKey> keys;
  for (const auto& [key, task] : tasks_)
    if (task.told == Told::kStart) keys.push_back(key);
  return keys;
}

Status LocalBackend::forget(const LaunchKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return never_started(key);
  if (found->second.told != Told::kEnd)
    return make_error(ErrorCode::kConflict, "launch {}: has not ended yet: stop it first", format_key(key));
  // Gone in one step, whatever happens while its files are taken away.
  const TaskFolder folder = folder_of(key);
  const std::string waste = fmt::format("{}/tasks/.gone-{}", options_.state_folder, format_key(key));
  std::error_code failed;
  // Its keeper has taken it away, unless that was killed.
  if (means_.mounts) fs::remove_all(fmt::format("{}/.tmp/{}", homes_, format_key(key)), failed);
  if (!device_groups_.empty()) remove_device_group(device_group_of(key));
  fs::remove_all(waste, failed);
  fs::rename(folder.path(), waste, failed);
  if (failed) return make_error(ErrorCode::kUnavailable, "{}: cannot be taken away: {}", folder.path(), failed.message());
  fs::remove_all(waste, failed);
  tasks_.erase(found);
  return {};
}

Result<LogPiece> LocalBackend::read_log(const LogQuery& query) const {
  return stint::read_log(files_of_log(options_.state_folder + "/logs", query.key), query);
}

void LocalBackend::bury_keepers() {
  std::erase_if(keepers_, [](int pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace stint
