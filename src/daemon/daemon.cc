#include "daemon/daemon.h"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "backends/local_backend.h"
#include "backends/simulated_backend.h"
#include "base/counted.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "collect/gpu_sampler.h"
#include "daemon/alert_journal.h"
#include "daemon/simulated_faults.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

/// Of each simulated machine, drawn together.
constexpr int64_t kFaultsAhead = 20;

/// Of the local backend, in the daemon's.
std::string backend_folder(const DaemonOptions& options) { return options.state_folder + "/work"; }

Result<RunAs> find_user(const std::string& name) {
  std::vector<char> buffer(65536);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return make_error(ErrorCode::kNotFound, "no user '{}' on this machine to run jobs as: make one, or name another", name);
  return RunAs{entry.pw_uid, entry.pw_gid};
}

/// What jobs run as.
struct JobAccounts {
  std::optional<RunAs> one;  ///< for all; none = the daemon's own, unless there is a range
  std::optional<UidRange> range;
};

/// A job that has the daemon's account reads its state: the first operator's token, the environment of all jobs. One that is root
/// does all that this machine allows.
Status check_account(const DaemonOptions& options, const std::optional<RunAs>& account) {
  if (options.insecure_shared_user) return {};
  constexpr std::string_view kInstead =
      "Give jobs accounts (--jobs-as-range 70000-79999, or --jobs-as USER for all; the daemon must be root for both), run "
      "nothing (--simulate), or say --insecure-shared-user where everybody who may submit may have the daemon's rights";
  const uint32_t own = ::geteuid();
  if (account && account->uid == 0) return invalid("--jobs-as {}: jobs would run as root. {}", options.jobs_as, kInstead);
  if (account && account->uid != own) return {};
  return invalid(
      "jobs would run as the daemon's own user ({}): each could read the tokens in {} and so do all that an operator may. {}",
      own == 0 ? "root" : fmt::format("uid {}", own), options.state_folder, kInstead);
}

Result<JobAccounts> accounts_of_jobs(const DaemonOptions& options) {
  JobAccounts accounts;
  if (options.simulate) return accounts;
  if (!options.jobs_as_range.empty()) {
    if (!options.jobs_as.empty()) return invalid("--jobs-as and --jobs-as-range: name one account for all jobs, or a range");
    if (::geteuid() != 0) return invalid("--jobs-as-range: to give jobs other accounts the daemon would have to be root");
    TRY_ASSIGN(accounts.range, parse_uid_range(options.jobs_as_range));
    return accounts;
  }
  if (!options.jobs_as.empty()) {
    TRY_ASSIGN(accounts.one, find_user(options.jobs_as));
  }
  TRY(check_account(options, accounts.one));
  return accounts;
}

/// A fork bomb must leave the machine, and others' jobs, numbers for their processes.
int64_t usual_process_limit() {
  constexpr int64_t kUsual = 16'384;
  const auto most = parse_int(trim(read_kernel_file("/proc/sys/kernel/pid_max")));
  return most ? std::max<int64_t>(std::min(kUsual, *most / 4), 1) : kUsual;
}

Result<std::unique_ptr<Backend>> make_backend(const DaemonOptions& options, const JobAccounts& accounts,
                                              const DaemonConfig& config) {
  if (options.simulate) {
    auto simulated = std::make_unique<SimulatedBackend>();
    if (options.simulated_faults > Duration())
      simulated->plan_by([fleet = config.fleet,
                          between = options.simulated_faults](Interval when) { return simulated_faults(fleet, between, when); },
                         now(), Duration::nanoseconds(options.simulated_faults.count_ns() * kFaultsAhead));
    return std::unique_ptr<Backend>(std::move(simulated));
  }
  LocalBackend::Options local;
  local.state_folder = backend_folder(options);
  local.cgroup = options.cgroup;
  local.run_as = accounts.one;
  local.most_processes = options.job_processes > 0 ? options.job_processes : usual_process_limit();
  local.most_log = options.job_log_limit;
  if (accounts.range) local.accounts = {.range = *accounts.range, .book = options.state_folder + "/accounts.json"};
  const std::string homes = options.jobs_home.empty() ? options.state_folder + "-jobs" : options.jobs_home;
  local.homes = std::filesystem::absolute(homes).lexically_normal().string();
  if (!config.telemetry.nvml_library.empty()) local.clear.nvml_library = config.telemetry.nvml_library;
  TRY_ASSIGN(std::unique_ptr<LocalBackend> backend, LocalBackend::create(std::move(local)));
  return std::unique_ptr<Backend>(std::move(backend));
}

Result<DaemonConfig> read_config(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_all(path));
  return parse_daemon_config(text, path);
}

Result<std::vector<std::string>> read_rows(EventLog& log, std::string_view stream) {
  std::vector<std::string> rows;
  TRY(log.read_side_rows(stream, 0, std::numeric_limits<int64_t>::max(), [&rows](int64_t, std::string_view row) -> Status {
    rows.emplace_back(row);
    return {};
  }));
  return rows;
}

/// Tasks run on the machine that the daemon runs on, and the log does not say on which machine that was.
Status check_local(const DaemonOptions& options, const FleetConfig& fleet) {
  if (options.simulate) return {};
  if (fleet.nodes.size() > 1)
    return invalid(
        "{}: {} machines ({}, {}{}), but the daemon starts every task on the machine that it runs on: configure that one alone "
        "(examples/one-machine.json). Jobs of several machines run under Slurm, which stint drives (docs/slurm.md); --simulate "
        "tries "
        "a fleet without running anything",
        options.config_file, fleet.nodes.size(), fleet.nodes[0].node.name, fleet.nodes[1].node.name,
        fleet.nodes.size() > 2 ? ", …" : "");
  if (options.standby)
    return invalid(
        "--standby: a standby that takes over would start every running job a second time, on its own machine: the log does not "
        "yet "
        "say on which machine a task runs. Run one daemon, which its service manager starts again on the machine of its jobs "
        "(packaging/stint.service); a daemon with --simulate may have a standby");
  return {};
}

/// Work that was started on GPUs that are not there would fail, and be billed.
Status check_gpus(const DaemonOptions& options, const DaemonConfig& config) {
  if (options.simulate || options.allow_missing_gpus) return {};
  for (const Machine& machine : config.fleet.nodes) {
    const NodeSpec& node = machine.node;
    if (node.gpus == 0) continue;
    GpuSampler::Options look;
    if (!config.telemetry.nvml_library.empty()) look.nvml_library = config.telemetry.nvml_library;
    const auto sampler = GpuSampler::open(look);
    const auto refuse = [&](const std::string& what) {
      return invalid(
          "{}: node '{}' has {} of {}, but {}. Configure the machine as it is, or try it out with --allow-missing-gpus",
          options.config_file, node.name, counted(node.gpus, "GPU"),
          node.gpu_model.empty() ? "a model that is not named" : node.gpu_model, what);
    };
    if (!sampler.ok()) return refuse(fmt::format("none can be seen here: {}", sampler.error().message));
    const std::vector<GpuIdentity>& here = (*sampler)->gpus();
    if (std::ssize(here) < node.gpus)
      return refuse(fmt::format("this machine has {}{}", counted(std::ssize(here), "GPU"),
                                here.empty() ? "" : fmt::format(", {}", here.front().name)));
    const GpuFacts* facts = here.empty() ? nullptr : Catalog::built_in().find_gpu(here.front().name, node.gpu_memory);
    if (facts != nullptr && !node.gpu_model.empty() && facts->model != node.gpu_model)
      return refuse(fmt::format("this machine's are {}", here.front().name));
  }
  return {};
}

/// Reads what the active daemon writes until that is gone. Then all of it is read and the log is this one's.
Status stand_by(EventLog& log, Engine& engine, const std::function<bool(const std::string&)>& keep_waiting) {
  std::string said;
  bool reached = true;
  for (;;) {
    const Status looked = reached ? log.refresh() : log.reopen();
    reached = looked.ok();
    std::string news = looked.ok() ? "standing by: another daemon is active" : looked.error().message;
    if (looked.ok()) {
      TRY(engine.read_on());
      const Result<bool> taken = log.take_over();
      if (taken.ok() && *taken) return {};
      reached = taken.ok();
    }
    const bool is_news = news != said;
    said = news;
    if (keep_waiting && !keep_waiting(is_news ? news : std::string()))
      return make_error(ErrorCode::kUnavailable, "stopped while standing by");
  }
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(const DaemonOptions& options) {
  TRY_ASSIGN(DaemonConfig config, read_config(options.config_file));
  TRY(check_local(options, config.fleet));
  TRY(check_gpus(options, config));
  TRY_ASSIGN(const JobAccounts accounts, accounts_of_jobs(options));
  std::error_code error;
  std::filesystem::create_directories(options.state_folder, error);
  if (error) return make_error(ErrorCode::kUnavailable, "{}: cannot be made: {}", options.state_folder, error.message());
  std::filesystem::permissions(options.state_folder, std::filesystem::perms::owner_all, error);
  TRY_ASSIGN(LockFile lock, LockFile::take(options.state_folder + "/lock"));
  std::unique_ptr<Daemon> daemon(new Daemon(options, std::move(lock)));
  daemon->config_ = std::move(config);
  TRY_ASSIGN(daemon->backend_, make_backend(options, accounts, daemon->config_));
  daemon->notes_ = daemon->backend_->notes();
  const std::string place = daemon->config_.log.empty() ? options.state_folder + "/events.db" : daemon->config_.log;
  TRY_ASSIGN(EventLog log, EventLog::open(place, {.follow = options.standby}));
  daemon->log_ = std::make_unique<EventLog>(std::move(log));
  TRY_ASSIGN(Engine engine, Engine::follow(*daemon->log_, *daemon->backend_, {}));
  if (options.standby) TRY(stand_by(*daemon->log_, engine, options.keep_waiting));
  const Instant last_at = daemon->log_->last_at();
  EventClock clock = EventClock::kept_in(options.state_folder + "/clock.json", last_at);
  TRY(engine.take_over(daemon->config_.fleet, clock.now()));
  daemon->recovery_ = engine.recovery();
  TRY_ASSIGN(const std::vector<std::string> alert_rows, read_rows(*daemon->log_, kAlertStream));
  TRY_ASSIGN(const std::vector<std::string> power_rows, read_rows(*daemon->log_, kPowerStream));
  daemon->service_ = std::make_unique<Service>(std::move(engine), *daemon->backend_, clock);
  TRY_ASSIGN(daemon->findings_, FindingBook::open(options.state_folder));
  TRY_ASSIGN(daemon->alerts_,
             AlertDesk::open(*daemon->service_, daemon->config_.alerts, alert_rows,
                             {.live = &daemon->telemetry_, .findings = daemon->findings_, .last_at = last_at, .couriers = {}}));
  daemon->collect();
  daemon->power_ = std::make_unique<NodePower>(*daemon->service_, daemon->off_machines_, daemon->config_.power, power_rows);
  daemon->keep_services();
  daemon->bills_ = std::make_unique<BillBook>(place);
  TRY(daemon->begin_background_work());
  return daemon;
}

Status Daemon::begin_background_work() {
  // An audit.json that is none is said where it is asked for.
  const auto there = findings_->audit();
  AuditRunnerOptions options;
  options.program = options_.program;
  options.history = history_path();
  options.clock = [clock = service_->clock()]() mutable { return clock.now(); };
  options.take = [book = findings_](std::string_view json) { return book->put_audit(json); };
  if (there.ok() && *there != nullptr) options.last = (*there)->written;
  audits_ = std::make_unique<AuditRunner>(config_.audit, std::move(options));
  statements_ = std::make_unique<StatementRunner>(
      config_.statements, StatementRunnerOptions{.program = options_.program,
                                                 .history = history_path(),
                                                 .folder = options_.state_folder + "/statements",
                                                 .clock = [clock = service_->clock()]() mutable { return clock.now(); }});
  return {};
}

/// Begins to, or begins anew as configured now.
void Daemon::collect() {
  collector_.reset();
  telemetry_.retire_sources();
  LiveCollectorOptions options;
  options.config = config_.telemetry;
  options.simulated = options_.simulate;
  options.tasks_folder = backend_folder(options_);
  options.history_path = history_path();
  options.off = &off_machines_;
  for (const Machine& node : config_.fleet.nodes)
    options.nodes.insert(node.node.name);
  options.clock = [clock = service_->clock()]() mutable { return clock.now(); };
  collector_ = std::make_unique<LiveCollector>(*service_, telemetry_, std::move(options));
}

void Daemon::keep_services() {
  ReplicaKeeper::Options options{.clock = [clock = service_->clock()]() mutable { return clock.now(); }, .ask = {}};
  // On simulated machines nothing listens.
  if (options_.simulate)
    options.ask = [](const std::string&, Instant) {
      return ReplicaHealth{.answer = ReplicaHealth::Answer::kReady, .figures = {}};
    };
  replicas_ = std::make_unique<ReplicaKeeper>(*service_, telemetry_, std::move(options));
  replicas_->configure(config_.services);
}

std::string Daemon::log_base(const LaunchKey& key) const { return LocalBackend::log_base(backend_folder(options_), key); }

Daemon::~Daemon() { stop(); }

void Daemon::stop() {
  statements_.reset();
  audits_.reset();
  replicas_.reset();
  power_.reset();
  bills_.reset();
  if (alerts_) alerts_->stop();
  collector_.reset();
  if (service_) service_->stop();
}

Status Daemon::reload() {
  TRY_ASSIGN(DaemonConfig next, read_config(options_.config_file));
  TRY(check_local(options_, next.fleet));
  TRY(check_gpus(options_, next));
  std::promise<Status> done;
  service_->change_fleet(next.fleet, {.actor = "configuration", .idempotency_key = ""}, [&](const Result<EngineView>& answer) {
    done.set_value(answer.ok() ? Status() : Status(answer.error()));
  });
  TRY(done.get_future().get());
  TRY(alerts_->reload(next.alerts));
  config_ = std::move(next);
  collect();
  audits_->reconfigure(config_.audit);
  statements_->reconfigure(config_.statements);
  power_->reconfigure(config_.power);
  replicas_->configure(config_.services);
  return {};
}

}  // namespace stint
