// stint daemon: keeps the queue, starts what may run, and remembers all of it.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/parser.h"
#include "cli/run/local_job_options.h"
#include "cli/tls_options.h"
#include "clouds/metadata_address.h"
#include "daemon/daemon.h"
#include "daemon/front.h"
#include "host/service_manager.h"

namespace stint {
namespace {

/// SIGTERM, SIGINT and SIGHUP come to wait() alone: every thread that is made later has them blocked.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
      sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  int wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }
  /// @return whether one came that ends the program.
  [[nodiscard]] bool asked_to_end_within(Duration patience) const {
    const timespec time = {patience.whole_seconds(), patience.count_ns() % 1'000'000'000};
    const int signal = sigtimedwait(&set_, nullptr, &time);
    return signal == SIGTERM || signal == SIGINT;
  }

 private:
  sigset_t set_;
};

struct DaemonArguments {
  DaemonOptions daemon;
  std::string cloud = "auto";
  std::string listen;  ///< empty = as configured
  std::string faults;  ///< a duration; empty = none
  TlsOptions tls;
  bool plain_beyond_loopback = false;
  AuditHeadsOptions audit_heads;
  std::string audit_heads_every = "1h";
  LocalJobArguments jobs;
  std::string fence_after;
};

/// The tops of its queues.
std::vector<std::string> clients_of(const Daemon& daemon) {
  std::vector<std::string> clients;
  for (const sched::QueueSpec& queue : daemon.config().fleet.queues)
    if (!queue.parent.valid()) clients.push_back(queue.name);
  return clients;
}

/// What faces the network, on top of a daemon that has recovered.
Result<std::unique_ptr<Front>> open_front(Daemon& daemon, const DaemonArguments& arguments) {
  FrontOptions front;
  front.state_folder = daemon.state_folder();
  front.log = daemon.config().log;
  front.log_epoch = daemon.log_epoch();
  front.disk_reserve = arguments.daemon.disk_reserve;
  front.job_key = daemon.job_key();
  front.secrets_key = arguments.daemon.secrets_key;
  front.listen = arguments.listen.empty() ? daemon.config().listen : arguments.listen;
  front.tls = arguments.tls;
  front.plain_beyond_loopback = arguments.plain_beyond_loopback;
  front.oidc = daemon.config().oidc;
  front.clients = clients_of(daemon);
  front.audit_policy = daemon.config().audit_log;
  front.audit_heads = arguments.audit_heads;
  front.backend = &daemon.backend();
  front.tasks = daemon.tasks();
  front.job_logs = daemon.job_logs();
  front.log_keeping = daemon.config().job_logs;
  front.client_rules = daemon.config().fleet.govern.clients;
  front.version = STINT_VERSION;
  front.findings = daemon.findings();
  front.audits = &daemon.audits();
  front.statements = &daemon.statements();
  front.allocations = &daemon.allocations();
  front.bills = &daemon.bills();
  front.power = &daemon.power();
  front.off = &daemon.off_machines();
  front.cluster = daemon.cluster_rest();
  front.replicas = &daemon.replicas();
  front.alerts = &daemon.alerts();
  front.telemetry = &daemon.telemetry();
  return Front::open(daemon.service(), std::move(front));
}

/// glibc takes large blocks from its heaps once one of the size has been freed: there they are never given back, as small ones that
/// stay come to lie between them, and what a write of the history needs for a second is held for ever.
void give_large_blocks_back() {
  constexpr int kLarge = 128 << 10;  // bytes: glibc's own bound to begin with
  mallopt(M_MMAP_THRESHOLD, kLarge);
}

Status run_daemon(DaemonArguments arguments) {
  if (!arguments.faults.empty()) {
    if (!arguments.daemon.simulate) return invalid("--simulated-faults: give --simulate, too: real machines fail by themselves");
    const Result<Duration> faults = parse_duration(arguments.faults);
    if (!faults.ok() || *faults <= Duration())
      return invalid("--simulated-faults '{}': expected a time above 0, such as 8h", excerpt(arguments.faults));
    arguments.daemon.simulated_faults = *faults;
  }
  if (!arguments.fence_after.empty()) {
    const Result<Duration> after = parse_duration(arguments.fence_after);
    if (!after.ok() || *after < Duration())
      return invalid("--fence-after '{}': expected a time, such as 30s", excerpt(arguments.fence_after));
    arguments.daemon.fence_after = *after;
  }
  const Result<Duration> heads_every = parse_duration(arguments.audit_heads_every);
  if (!heads_every.ok() || *heads_every < Duration::seconds(1))
    return invalid("--audit-heads-every '{}': expected a second or more, such as 1h", excerpt(arguments.audit_heads_every));
  arguments.audit_heads.every = *heads_every;
  give_large_blocks_back();
  TRY_ASSIGN(arguments.daemon.cloud, cloud_named(arguments.cloud));
  TRY(read_local_job_options(arguments.daemon, arguments.jobs));
  const ServiceManager manager;
  const Signals signals;
  arguments.daemon.keep_waiting = [&](const std::string& news) {
    if (!news.empty()) {
      fmt::print(stderr, "stint: {}\n", news);
      manager.ready(news);  // a start that stands by is over
    }
    return !signals.asked_to_end_within(Duration::milliseconds(200));
  };
  std::atomic<bool> superseded = false;
  arguments.daemon.on_superseded = [&superseded](const std::string& why) {
    fmt::print(stderr, "stint: {}: this daemon ends; start it again with --standby\n", why);
    superseded = true;
    ::kill(::getpid(), SIGTERM);
  };
  arguments.daemon.listen = arguments.listen;
  arguments.daemon.by_tls = !arguments.tls.certificate_file.empty();
  TRY_ASSIGN(const std::unique_ptr<Daemon> daemon, Daemon::start(arguments.daemon));
  const Recovery& found = daemon->recovery();
  fmt::print(stderr, "stint: {} steps read from the log{}, {} launches ordered again, {} unknown tasks stopped\n", found.steps,
             found.snapshot_step > 0 ? fmt::format(" behind its snapshot of step {}", found.snapshot_step) : "",
             found.launches_repeated, found.strangers_stopped);
  for (const std::string& note : daemon->notes())
    fmt::print(stderr, "stint: {}\n", note);
  TRY_ASSIGN(const std::unique_ptr<Front> front, open_front(*daemon, arguments));
  for (const std::string& one : front->news())
    fmt::print(stderr, "stint: {}\n", one);
  const std::string listening = "listening on " + front->url();
  fmt::print(stderr, "stint: {}\n", listening);
  if (!front->new_token_file().empty())
    fmt::print(stderr, "stint: made a token for the user admin, good for 90 days: export STINT_TOKEN_FILE={}\n",
               std::filesystem::absolute(front->new_token_file()).string());
  if (!front->audit_problem().empty())
    fmt::print(stderr, "stint: the audit log is not what its signed heads say: {}\n", front->audit_problem());
  manager.ready(listening);
  for (;;) {
    if (signals.wait() != SIGHUP) break;
    manager.reloading();
    const Status reloaded = daemon->reload();
    if (reloaded.ok())
      front->reconfigure(clients_of(*daemon), daemon->config().audit_log, daemon->config().job_logs,
                         daemon->config().fleet.govern.clients);
    fmt::print(stderr, "stint: {}\n",
               reloaded.ok() ? "configuration taken over" : "configuration not taken over: " + reloaded.error().message);
    if (const Status renewed = front->reload_certificates(); !renewed.ok())
      fmt::print(stderr, "stint: certificates not taken over: {}\n", renewed.error().message);
    manager.ready(listening);
  }
  manager.stopping();
  front->close_doors();
  daemon->stop();
  if (superseded) return make_error(ErrorCode::kUnavailable, "another daemon drives the log now");
  fmt::print(stderr, "stint: stopped; what runs goes on and is taken up by the next start\n");
  return {};
}

}  // namespace

void add_daemon_command(Command& app, Action& action) {
  auto options = std::make_shared<DaemonArguments>();
  Command* command = app.add_subcommand("daemon", "Keeps the queue, starts what may run, and remembers all of it");
  command->add_option("--config", options->daemon.config_file, "machines, queues and policy (JSON)")->required();
  command->add_option("--state", options->daemon.state_folder, "folder for the event log and what runs")->required();
  command->add_flag("--standby", options->daemon.standby,
                    "where the log is a database: follow the daemon that is active, take over when it is gone");
  command->add_option(
      "--fence", options->daemon.fence,
      "program that is called with name and id of another machine whose daemon is gone, and ends with 0 once it is certain that "
      "nothing runs there any more; jobs then go on here. Without it they are not taken over from another machine");
  command
      ->add_option("--fence-after", options->fence_after,
                   "so long another machine's daemon must be away before, 30s unless given")
      ->type_name("DURATION");
  command->add_option("--host-id", options->daemon.host_id,
                      "what tells this machine from others in a log that is a database; else /etc/machine-id does");
  command->add_flag("--allow-missing-gpus", options->daemon.allow_missing_gpus,
                    "start although this machine has other GPUs than configured, or none: for trying it out");
  command->add_option(
      "--learn-from", options->daemon.learn_from,
      "History whose runs say how long jobs of a client's user and name run; at the first start, before jobs end here");
  command->add_flag("--simulate", options->daemon.simulate, "run nothing: tasks end after the times given for them");
  command
      ->add_option(
          "--simulated-faults", options->faults,
          "with --simulate: each machine fails, or spot takes it back, after so long on average, such as 8h, for a tenth of that")
      ->type_name("DURATION");
  command
      ->add_option(
          "--cloud", options->cloud,
          "whose notices of interruption to heed on the machine that jobs run on: aws, gcp, azure, none, or auto: as its "
          "firmware says")
      ->capture_default_str();
  add_local_job_options(*command, options->daemon, options->jobs);
  command->add_option(
      "--starter", options->daemon.starter,
      "socket of `stint starter`, which starts jobs in place of this process; then this one needs no rights, and options "
      "of jobs are the starter's");
  command->add_flag("--insecure-shared-user", options->daemon.insecure_shared_user,
                    "jobs run as the daemon's own user: whoever submits can read its tokens and act as operator");
  command->add_option(
      "--audit-heads", options->audit_heads.file,
      "file that signed heads of the audit log are added to: best where others keep it; else STATE/audit-heads.jsonl");
  command->add_option(
      "--secrets-key", options->daemon.secrets_key,
      "file with 64 hexadecimal digits (openssl rand -hex 32), best on another disk: secrets of one-time codes are "
      "encrypted with it, and it opens those that `stint secret seal` has encrypted; from then on every start needs it");
  command->add_option("--audit-key", options->audit_heads.key_file, "file with the key that signs them; else STATE/audit.key");
  command->add_option("--audit-heads-every", options->audit_heads_every, "how often, while there are new records")
      ->type_name("DURATION")
      ->capture_default_str();
  command->add_flag("--audit-syslog", options->audit_heads.syslog, "send each head to syslog, too, as a notice of facility auth");
  command->add_option("--listen", options->listen, "IP address and port of the API, such as 127.0.0.1:8470; else as configured");
  add_tls_options(*command, options->tls, options->plain_beyond_loopback);
  command->footer("Example: stint daemon --config fleet.json --state /var/lib/stint --jobs-as-range 70000-79999");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_daemon(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
