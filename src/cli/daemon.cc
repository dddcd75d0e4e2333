// stint daemon: keeps the queue, starts what may run, and remembers all of it.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "cli/cli.h"
#include "daemon/daemon.h"

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

Status run_daemon(const DaemonOptions& options) {
  const Signals signals;
  TRY_ASSIGN(const std::unique_ptr<Daemon> daemon, Daemon::start(options));
  const Recovery& found = daemon->recovery();
  fmt::print(stderr, "stint: {} steps read from the log, {} launches ordered again, {} unknown tasks stopped\n", found.steps,
             found.launches_repeated, found.strangers_stopped);
  for (const std::string& note : daemon->notes())
    fmt::print(stderr, "stint: {}\n", note);
  for (;;) {
    if (signals.wait() != SIGHUP) break;
    const Status reloaded = daemon->reload();
    fmt::print(stderr, "stint: {}\n",
               reloaded.ok() ? "configuration taken over" : "configuration not taken over: " + reloaded.error().message);
  }
  daemon->stop();
  fmt::print(stderr, "stint: stopped; what runs goes on and is taken up by the next start\n");
  return {};
}

}  // namespace

void add_daemon_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<DaemonOptions>();
  CLI::App* command = app.add_subcommand("daemon", "Keeps the queue, starts what may run, and remembers all of it");
  command->add_option("--config", options->config_file, "machines, queues and policy (JSON)")->required();
  command->add_option("--state", options->state_folder, "folder for the event log and what runs")->required();
  command->add_flag("--simulate", options->simulate, "run nothing: tasks end after the times given for them");
  command->footer("Example: stint daemon --config fleet.json --state /var/lib/stint");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_daemon(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
