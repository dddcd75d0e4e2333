// stint daemon: keeps the queue, starts what may run, and remembers all of it.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "cli/cli.h"
#include "daemon/daemon.h"
#include "daemon/front.h"

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

 private:
  sigset_t set_;
};

struct DaemonArguments {
  DaemonOptions daemon;
  std::string listen;  ///< empty = as configured
  TlsOptions tls;
  bool plain_beyond_loopback = false;
};

/// What faces the network, on top of a daemon that has recovered.
Result<std::unique_ptr<Front>> open_front(Daemon& daemon, const DaemonArguments& arguments) {
  FrontOptions front;
  front.state_folder = daemon.state_folder();
  front.listen = arguments.listen.empty() ? daemon.config().listen : arguments.listen;
  front.tls = arguments.tls;
  front.plain_beyond_loopback = arguments.plain_beyond_loopback;
  for (const sched::QueueSpec& queue : daemon.config().fleet.queues)
    if (!queue.parent.valid()) front.clients.push_back(queue.name);
  front.log_path = [logs = fmt::format("{}/work/logs/", daemon.state_folder())](const LaunchKey& key, LogStream stream) {
    return logs + format_key(key) + (stream == LogStream::kError ? ".err" : ".out");
  };
  front.version = STINT_VERSION;
  return Front::open(daemon.service(), std::move(front));
}

Status run_daemon(const DaemonArguments& arguments) {
  const Signals signals;
  TRY_ASSIGN(const std::unique_ptr<Daemon> daemon, Daemon::start(arguments.daemon));
  const Recovery& found = daemon->recovery();
  fmt::print(stderr, "stint: {} steps read from the log, {} launches ordered again, {} unknown tasks stopped\n", found.steps,
             found.launches_repeated, found.strangers_stopped);
  for (const std::string& note : daemon->notes())
    fmt::print(stderr, "stint: {}\n", note);
  TRY_ASSIGN(const std::unique_ptr<Front> front, open_front(*daemon, arguments));
  fmt::print(stderr, "stint: listening on {}\n", front->url());
  if (!front->new_token_file().empty())
    fmt::print(stderr, "stint: made a token for the user admin, good for 90 days: export STINT_TOKEN_FILE={}\n",
               front->new_token_file());
  for (;;) {
    if (signals.wait() != SIGHUP) break;
    const Status reloaded = daemon->reload();
    fmt::print(stderr, "stint: {}\n",
               reloaded.ok() ? "configuration taken over" : "configuration not taken over: " + reloaded.error().message);
  }
  front->close_doors();
  daemon->stop();
  fmt::print(stderr, "stint: stopped; what runs goes on and is taken up by the next start\n");
  return {};
}

}  // namespace

void add_daemon_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<DaemonArguments>();
  CLI::App* command = app.add_subcommand("daemon", "Keeps the queue, starts what may run, and remembers all of it");
  command->add_option("--config", options->daemon.config_file, "machines, queues and policy (JSON)")->required();
  command->add_option("--state", options->daemon.state_folder, "folder for the event log and what runs")->required();
  command->add_flag("--simulate", options->daemon.simulate, "run nothing: tasks end after the times given for them");
  command->add_option("--listen", options->listen, "IP address and port of the API, such as 127.0.0.1:8470; else as configured");
  CLI::Option* certificate = command->add_option("--tls-certificate", options->tls.certificate_file,
                                                 "PEM file: the server's certificate with its chain");
  CLI::Option* key = command->add_option("--tls-key", options->tls.key_file, "PEM file: its key, not encrypted");
  certificate->needs(key);
  key->needs(certificate);
  command
      ->add_option("--tls-client-ca", options->tls.client_ca_file,
                   "PEM file: clients must show a certificate signed by one of these")
      ->needs(certificate);
  command->add_flag("--plain-beyond-loopback", options->plain_beyond_loopback,
                    "listen without TLS also beyond this machine: tokens can then be read on the way");
  command->footer("Example: stint daemon --config fleet.json --state /var/lib/stint");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_daemon(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
