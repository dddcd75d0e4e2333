#include "daemon/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "backends/backend_thread.h"
#include "backends/kubernetes/kubernetes_backend.h"
#include "backends/local/local_backend.h"
#include "backends/local/machine_tasks.h"
#include "backends/simulated_backend.h"
#include "backends/slurm/slurm_backend.h"
#include "backends/slurm/slurm_rest.h"
#include "backends/starter/starter_backend.h"
#include "base/counted.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "collect/gpu_sampler.h"
#include "daemon/alerts/alert_journal.h"
#include "daemon/engine/simulated_faults.h"
#include "daemon/identity/job_token.h"
#include "daemon/local_jobs.h"
#include "daemon/standby.h"
#include "daemon/task_host.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/sealed.h"
#include "sim/run_durations.h"
#include "store/history_file.h"

namespace stint {

namespace {

/// Of each simulated machine, drawn together.
constexpr int64_t kFaultsAhead = 20;
constexpr Duration kToldWithin = Duration::seconds(2);  // by the API server, until it is asked for again

/// Of the local backend, in the daemon's.
std::string backend_folder(const DaemonOptions& options) { return options.state_folder + "/work"; }

Result<std::unique_ptr<Backend>> make_slurm_backend(const DaemonOptions& options, const DaemonConfig& config) {
  const SlurmEngineConfig& slurm = *config.engine.slurm;
  SlurmBackendRules rules;
  rules.programs.folder = slurm.programs;
  rules.state_folder = options.state_folder + "/slurm";
  rules.log_folder = slurm.logs.empty() ? rules.state_folder + "/logs" : slurm.logs;
  rules.others = {.queues = slurm.accounts, .known_queues = {}, .partitions = slurm.partitions, .qos = slurm.qos};
  for (const sched::QueueSpec& queue : config.fleet.queues)
    rules.others.known_queues.insert(queue.name);
  if (!slurm.partitions.empty()) rules.partition = slurm.partitions.front();
  for (const auto& [user, account] : slurm.users) {
    TRY_ASSIGN(const RunAs run_as, find_user(account));
    if (run_as.uid != ::geteuid() && ::geteuid() != 0)
      return invalid("{}: engine: slurm: users: to run '{}' as {} the daemon would have to be root", options.config_file,
                     excerpt(user), account);
    if (run_as.uid != ::geteuid() && slurm.logs.empty())
      return invalid("{}: engine: slurm: logs: name a folder that all machines see: jobs of {} cannot write into {}",
                     options.config_file, account, options.state_folder);
    rules.users.emplace(user, run_as);
  }
  rules.machines = slurm.machines;
  rules.every = slurm.every;
  rules.patience = slurm.patience;
  TRY_ASSIGN(std::unique_ptr<SlurmBackend> backend, SlurmBackend::create(std::move(rules), now()));
  return std::unique_ptr<Backend>(std::make_unique<BackendThread>(std::move(backend), now()));
}

Result<std::unique_ptr<Backend>> make_kubernetes_backend(const DaemonOptions& options, const DaemonConfig& config,
                                                         std::shared_ptr<KubeMachineAsks> asks) {
  const KubernetesEngineConfig& engine = *config.engine.kubernetes;
  KubernetesBackendRules rules;
  rules.identity.kubeconfig = engine.kubeconfig;
  rules.identity.context = engine.context;
  rules.state_folder = options.state_folder + "/kubernetes";
  rules.queue = {.mark = {},
                 .scheduler = engine.scheduler,
                 .namespaces = engine.namespaces,
                 .known_queues = {},
                 .queue = engine.queue,
                 .priority_classes = engine.priorities};
  for (const sched::QueueSpec& queue : config.fleet.queues)
    rules.queue.known_queues.insert(queue.name);
  const auto check = [&](const std::string& field, const std::string& queue) -> Status {
    if (rules.queue.known_queues.contains(queue)) return {};
    return invalid("{}: engine: kubernetes: {}: no queue '{}': name one of `queues`", options.config_file, field, excerpt(queue));
  };
  TRY(check("queue", engine.queue));
  for (const auto& [ns, queue] : engine.namespaces)
    TRY(check("namespaces", queue));
  if (engine.jobs) {
    const KubernetesJobsConfig& jobs = *engine.jobs;
    rules.jobs.emplace();
    rules.jobs->ns = jobs.ns;
    rules.jobs->of_clients = jobs.clients;
    rules.jobs->keep = jobs.keep;
    rules.jobs->patience = jobs.patience;
    rules.jobs->service_account = jobs.service_account;
    rules.jobs->pull_secrets = jobs.pull_secrets;
    for (const std::string& text : jobs.tolerations)
      rules.jobs->tolerations.push_back(parse_kube_toleration(text));
    rules.jobs->restricted = jobs.restricted;
  }
  rules.machines = engine.machines;
  rules.lease = {.ns = engine.lease_namespace, .name = engine.lease_name, .holder = {}, .duration = engine.lease_duration};
  rules.every = engine.every;
  rules.asks = std::move(asks);
  TRY_ASSIGN(std::unique_ptr<KubernetesBackend> backend, KubernetesBackend::create(std::move(rules)));
  return std::unique_ptr<Backend>(std::make_unique<BackendThread>(std::move(backend), now()));
}

Result<std::unique_ptr<Backend>> make_backend(const DaemonOptions& options, const JobAccounts& accounts,
                                              const DaemonConfig& config, LiveTelemetry& telemetry,
                                              std::shared_ptr<KubeMachineAsks> asks) {
  if (options.simulate) {
    auto simulated = std::make_unique<SimulatedBackend>();
    if (options.simulated_faults > Duration())
      simulated->plan_by([fleet = config.fleet,
                          between = options.simulated_faults](Interval when) { return simulated_faults(fleet, between, when); },
                         now(), Duration::nanoseconds(options.simulated_faults.count_ns() * kFaultsAhead));
    return std::unique_ptr<Backend>(std::move(simulated));
  }
  if (config.engine.slurm) return make_slurm_backend(options, config);
  if (config.engine.kubernetes) return make_kubernetes_backend(options, config, std::move(asks));
  const auto tell_held = [&telemetry, node = config.fleet.nodes.empty() ? "" : config.fleet.nodes[0].node.name](
                             int gpu, const std::string& why) {
    if (!node.empty()) telemetry.hold_back(node, gpu, why);
  };
  if (!options.starter.empty()) {
    TRY_ASSIGN(std::unique_ptr<StarterBackend> backend,
               StarterBackend::connect({.socket = options.starter, .tell_held = tell_held}));
    return std::unique_ptr<Backend>(std::make_unique<BackendThread>(std::move(backend), now()));
  }
  LocalBackend::Options local =
      local_backend_options(options, accounts, backend_folder(options), options.state_folder + "/accounts.json");
  if (!config.telemetry.nvml_library.empty()) local.clear.nvml_library = config.telemetry.nvml_library;
  local.tell_held = tell_held;
  TRY_ASSIGN(std::unique_ptr<LocalBackend> backend, LocalBackend::create(std::move(local)));
  return std::unique_ptr<Backend>(std::make_unique<BackendThread>(std::move(backend), now()));
}

/// What a Kubernetes is to say of machines that take no work. @param machines  of the change keeper
MachineAsks machine_asks(const std::set<std::string>& machines, const CarriedChanges& changes) {
  MachineAsks asks;
  for (const std::string& name : machines) {
    if (name.starts_with(kUncertainMachine)) {
      asks[name.substr(kUncertainMachine.size())].is_uncertain = true;
      continue;
    }
    std::string& why = asks[name].drained;
    why = "drained by an operator";
    for (const auto& [id, change] : changes)
      if (!change.undone_at && change.rests && std::ranges::find(change.drained, name) != change.drained.end())
        why = fmt::format("change {} of {}: {}", id, change.by, change.title);
  }
  return asks;
}

/// Where the tasks of this machine reach the API. @return empty where the port is not known beforehand
std::string server_of_tasks(std::string listen) {
  if (listen.ends_with(":0")) return "";
  for (const auto& [any, own] : {std::pair("0.0.0.0:", "127.0.0.1:"), std::pair("[::]:", "[::1]:")})
    if (listen.starts_with(any)) listen = own + listen.substr(std::string_view(any).size());
  return "http://" + listen;
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

/// Tasks run on the machine that the daemon runs on.
Status check_local(const DaemonOptions& options, const DaemonConfig& config) {
  if (config.engine.is_cluster() && options.simulate)
    return invalid("{}: engine: with --simulate nothing runs: leave one of them out", options.config_file);
  if (options.simulate) return {};
  const FleetConfig& fleet = config.fleet;
  if (config.power.makes_machines() || config.power.cloud || config.power.clouds.is_on())
    return invalid(
        "{}: power: pools that make machines need --simulate: the daemon starts every task on the machine that it runs on. Name "
        "machines of the configuration (`nodes`), or have Slurm's machines made by `stint slurm resume` (docs/slurm.md)",
        options.config_file);
  if (config.engine.is_cluster()) return {};
  if (fleet.nodes.size() > 1)
    return invalid(
        "{}: {} machines ({}, {}{}), but the daemon starts every task on the machine that it runs on: configure that one alone "
        "(examples/one-machine.json). Jobs of several machines run under Slurm, which stint drives (docs/slurm.md); --simulate "
        "tries "
        "a fleet without running anything",
        options.config_file, fleet.nodes.size(), fleet.nodes[0].node.name, fleet.nodes[1].node.name,
        fleet.nodes.size() > 2 ? ", …" : "");
  for (const Machine& machine : fleet.nodes)
    if (machine.node.repartition)
      return invalid(
          "{}: machine '{}': field 'repartition': the daemon hands out the MIG devices that its machine has and cuts no GPU: cut "
          "it with "
          "nvidia-smi mig and name what is there (`mig`); --simulate tries machines that are cut as needed",
          options.config_file, machine.node.name);
  return {};
}

/// Work that was started on GPUs that are not there would fail, and be billed.
Status check_gpus(const DaemonOptions& options, const DaemonConfig& config) {
  if (options.simulate || options.allow_missing_gpus || config.engine.is_cluster()) return {};
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

/// @return what has come of it, in words.
Result<std::string> learn_from(const std::string& path, Engine& engine, Instant now) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kReadOnly));
  TRY_ASSIGN(const History history, file.load());
  TRY_ASSIGN(const int64_t taken, engine.stage_learn(sim::lengths_of(history.runs, history.period.end)));
  if (taken == 0)
    return fmt::format("{}: nothing learnt from it: jobs have ended here already, or it has no runs with GPUs", path);
  TRY(engine.commit(now));
  return fmt::format("{}: how long jobs run is learnt from {}", path, counted(taken, "run"));
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(const DaemonOptions& options) {
  TRY_ASSIGN(DaemonConfig config, read_config(options.config_file));
  TRY(check_local(options, config));
  TRY(check_gpus(options, config));
  TRY_ASSIGN(const JobAccounts accounts,
             config.engine.is_cluster() ? Result<JobAccounts>(JobAccounts()) : accounts_of_jobs(options));
  std::error_code error;
  std::filesystem::create_directories(options.state_folder, error);
  if (error) return make_error(ErrorCode::kUnavailable, "{}: cannot be made: {}", options.state_folder, error.message());
  std::filesystem::permissions(options.state_folder, std::filesystem::perms::owner_all, error);
  // What ran through the starter lies in its folder, which this process does not look into.
  const bool has_run = !options.starter.empty() || std::filesystem::exists(backend_folder(options) + "/tasks");
  std::unique_ptr<Daemon> daemon(new Daemon(options));
  daemon->config_ = std::move(config);
  daemon->has_run_ = has_run;
  const std::string place = daemon->config_.log.empty() ? options.state_folder + "/events.db" : daemon->config_.log;
  // Of the daemon that it waits for, where both have one state folder.
  const bool may_wait = options.standby && daemon->has_tasks_here();
  if (const Status held = daemon->hold_folder(accounts); !held.ok() && (daemon->lock_ || !may_wait)) return held.error();
  TRY_ASSIGN(EventLog log, EventLog::open(place, {.follow = options.standby, .yields = daemon->has_tasks_here()}));
  daemon->log_ = std::make_unique<EventLog>(std::move(log));
  EngineOptions engine_options;
  // A pod reaches the daemon where somebody says at which address, and else has no use for a token.
  const auto& kubernetes = daemon->config_.engine.kubernetes;
  const std::string for_pods = kubernetes && kubernetes->jobs ? kubernetes->jobs->server : "";
  if (!options.simulate && (!kubernetes || !for_pods.empty())) {
    const std::string server = kubernetes ? for_pods
                               : options.by_tls
                                   ? ""
                                   : server_of_tasks(options.listen.empty() ? daemon->config_.listen : options.listen);
    engine_options.launch_environment = [&key = daemon->job_key_, server](const LaunchKey& launch) {
      std::vector<std::pair<std::string, std::string>> variables = {{std::string(kJobToken), job_token(key, launch)}};
      if (!server.empty()) variables.emplace_back("STINT_SERVER", server);
      return variables;
    };
  }
  TRY_ASSIGN(Engine engine, Engine::follow(*daemon->log_, engine_options));
  TRY(daemon->take_log(engine, accounts));
  TRY_ASSIGN(const std::vector<std::string> power_rows, read_rows(*daemon->log_, kPowerStream));
  TRY_ASSIGN(std::set<std::string> made, machines_in_power_rows(power_rows));
  engine.keep_machines(std::move(made));
  const Instant last_at = daemon->log_->last_at();
  EventClock clock = EventClock::kept_in(options.state_folder + "/clock.json", last_at);
  TRY(engine.take_over(daemon->config_.fleet, *daemon->backend_, clock.now()));
  daemon->recovery_ = engine.recovery();
  if (!options.learn_from.empty()) {
    TRY_ASSIGN(const std::string note, learn_from(options.learn_from, engine, clock.now()));
    daemon->notes_.push_back(note);
  }
  if (const CloudSettings& clouds = daemon->config_.power.clouds; clouds.is_on())
    daemon->notes_.push_back(
        fmt::format("power: machines are bought of {} and cost money from their first minute; no job runs on them (--simulate)",
                    clouds.names()));
  TRY_ASSIGN(const std::vector<std::string> alert_rows, read_rows(*daemon->log_, kAlertStream));
  AlertCourierOptions couriers;
  if (!options.secrets_key.empty()) {
    TRY_ASSIGN(SealKey key, SealKey::read(options.secrets_key));
    daemon->secrets_key_ = std::make_shared<const SealKey>(std::move(key));
    couriers.secrets_key = daemon->secrets_key_;
  }
  daemon->service_ = std::make_unique<Service>(
      std::move(engine), *daemon->backend_, clock,
      ServiceOptions{.on_superseded =
                         daemon->has_tasks_here() ? options.on_superseded : std::function<void(const std::string&)>()});
  TRY_ASSIGN(daemon->findings_, FindingBook::open(options.state_folder));
  TRY_ASSIGN(
      daemon->alerts_,
      AlertDesk::open(
          *daemon->service_, daemon->config_.alerts, alert_rows,
          {.live = &daemon->telemetry_, .findings = daemon->findings_, .last_at = last_at, .couriers = std::move(couriers)}));
  daemon->collect();
  daemon->power_ = std::make_unique<NodePower>(*daemon->service_, daemon->off_machines_, daemon->config_.power, power_rows,
                                               daemon->findings_->asks()->resting);
  if (const auto& slurm = daemon->config_.engine.slurm)
    daemon->cluster_rest_ = std::make_unique<ClusterRest>(
        "slurm", [programs = SlurmPrograms{.folder = slurm->programs}](const std::set<std::string>& resting) {
          return bring_to_rest(programs, resting);
        });
  daemon->changes_ =
      std::make_unique<ChangeKeeper>(*daemon->service_, daemon->findings_, *daemon->power_, daemon->cluster_rest_.get(),
                                     [clock = daemon->service_->clock()]() mutable { return clock.now(); });
  daemon->keep_services();
  daemon->bills_ = std::make_unique<BillBook>(place);
  TRY(daemon->begin_background_work());
  TRY(daemon->watch_cloud());
  return daemon;
}

bool Daemon::has_tasks_here() const { return !options_.simulate && !config_.engine.is_cluster() && !config_.log.empty(); }

Status Daemon::hold_folder(const JobAccounts& accounts) {
  if (backend_) return {};
  if (!lock_) {
    TRY_ASSIGN(LockFile lock, LockFile::take(options_.state_folder + "/lock"));
    lock_.emplace(std::move(lock));
  }
  if (!options_.simulate) {
    TRY_ASSIGN(job_key_, own_key(options_.state_folder + "/job.key"));
  }
  TRY(open_backend(accounts));
  notes_ = backend_->notes();
  return {};
}

Status Daemon::open_backend(const JobAccounts& accounts) {
  std::shared_ptr<KubeMachineAsks> asks;
  if (config_.engine.kubernetes && !options_.simulate) asks = std::make_shared<KubeMachineAsks>();
  TRY_ASSIGN(backend_, make_backend(options_, accounts, config_, telemetry_, asks));
  if (asks)
    cluster_rest_ = std::make_unique<ClusterRest>("kubernetes", [this, asks](const std::set<std::string>& machines) {
      return asks->bring_in_line(machine_asks(machines, findings_->carried()), kToldWithin);
    });
  if (options_.simulate || config_.engine.is_cluster()) return {};
  if (!options_.starter.empty()) {
    tasks_ = StarterBackend::tasks_of(options_.starter);
    job_logs_ = options_.state_folder;  // the starter's folder may be on another disk: then job_logs.most is to be set
    return {};
  }
  tasks_ = look_at_tasks(backend_folder(options_), accounts.range ? options_.state_folder + "/accounts.json" : "");
  job_logs_ = backend_folder(options_) + "/logs";
  return {};
}

/// Comes back when the log is this daemon's, and says in it where its tasks run from now on.
Status Daemon::take_log(Engine& engine, const JobAccounts& accounts) {
  StandbyRules rules{.here = {},
                     .has_run = has_run_,
                     .fence = options_.fence,
                     .hold_folder = [&] { return hold_folder(accounts); },
                     .keep_waiting = options_.keep_waiting};
  if (has_tasks_here()) {
    TRY_ASSIGN(rules.here, task_host_here(options_.state_folder, options_.host_id));
  }
  if (options_.fence_after) rules.patience = *options_.fence_after;
  TRY_ASSIGN(const std::optional<TaskHost> recorded, task_host_of(*log_));
  if (rules.here && backend_ && recorded && sight_of(recorded, *rules.here) == TaskSight::kOtherMachine)
    TRY(end_leftovers(*backend_, options_.keep_waiting));
  TRY_ASSIGN(const std::string lost, options_.standby ? stand_by(*log_, engine, rules) : find_tasks(*log_, engine, rules));
  if (!lost.empty()) engine.stage_lost_machines(lost);
  TRY_ASSIGN(const std::optional<TaskHost> before, task_host_of(*log_));
  if (!rules.here || before == rules.here) return {};
  engine.stage_side_renewal(std::string(kTaskHostStream));
  engine.stage_side_row({.stream = std::string(kTaskHostStream), .payload = to_json(*rules.here)});
  return {};
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
  allocations_ = std::make_unique<AllocationDesk>(options_.program, history_path());
  return {};
}

/// Begins to, or begins anew as configured now.
void Daemon::collect() {
  collector_.reset();
  telemetry_.retire_sources();
  LiveCollectorOptions options;
  options.config = config_.telemetry;
  if (config_.engine.is_cluster()) options.config.local = false;  // jobs run on other machines
  options.simulated = options_.simulate;
  options.tasks = tasks_;
  options.history_path = history_path();
  options.off = &off_machines_;
  options.secrets_key = secrets_key_;
  for (const Machine& node : config_.fleet.nodes)
    options.nodes.insert(node.node.name);
  options.clock = [clock = service_->clock()]() mutable { return clock.now(); };
  collector_ = std::make_unique<LiveCollector>(*service_, telemetry_, std::move(options));
}

void Daemon::keep_services() {
  ReplicaKeeper::Options options{.clock = [clock = service_->clock()]() mutable { return clock.now(); },
                                 .key_file = options_.state_folder + "/replica.key",
                                 .ask = {},
                                 .secrets_key = secrets_key_,
                                 .asks = [book = findings_] { return book->asks(); }};
  // On simulated machines nothing listens.
  if (options_.simulate)
    options.ask = [](const std::string&, Instant) {
      return ReplicaHealth{.answer = ReplicaHealth::Answer::kReady, .figures = {}};
    };
  replicas_ = std::make_unique<ReplicaKeeper>(*service_, telemetry_, std::move(options));
  replicas_->configure(config_.services);
}

/// Of the one machine that tasks run on, as it is called now.
Status Daemon::watch_cloud() {
  const bool runs_here = options_.cloud && !options_.simulate && !config_.engine.slurm && config_.fleet.nodes.size() == 1;
  if (runs_here && notices_of_cloud_ && notices_of_cloud_->node() == config_.fleet.nodes[0].node.name) return {};
  notices_of_cloud_.reset();
  if (!runs_here) return {};
  TRY_ASSIGN(auto look, open_notice_look(*options_.cloud));
  notices_of_cloud_ =
      std::make_unique<CloudNotices>(*service_, config_.fleet.nodes[0].node.name, *options_.cloud, std::move(look));
  return {};
}

Daemon::~Daemon() { stop(); }

void Daemon::stop() {
  notices_of_cloud_.reset();
  allocations_.reset();
  statements_.reset();
  audits_.reset();
  replicas_.reset();
  changes_.reset();
  power_.reset();
  bills_.reset();
  if (alerts_) alerts_->stop();
  collector_.reset();
  if (service_) service_->stop();
}

Status Daemon::reload() {
  TRY_ASSIGN(DaemonConfig next, read_config(options_.config_file));
  TRY(check_local(options_, next));
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
  return watch_cloud();
}

}  // namespace stint
