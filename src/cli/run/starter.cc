#include "cli/run/starter.h"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "backends/starter/starter_server.h"
#include "base/text.h"
#include "cli/parser.h"
#include "cli/run/local_job_options.h"
#include "daemon/local_jobs.h"
#include "host/lock_file.h"
#include "host/service_manager.h"

namespace stint {
namespace {

struct StarterArguments {
  DaemonOptions jobs;  ///< as far as they are about jobs; its state folder is that of tasks
  LocalJobArguments texts;
  std::string socket = "/run/stint/starter.sock";
  std::string client;
  std::string gpus;
  std::string nvml_library;
};

struct StarterAccount {
  uint32_t uid = 0, gid = 0;
};

/// By name, or by number where it has none.
Result<StarterAccount> starter_client_of(const std::string& name) {
  if (const auto number = parse_int(name); number && *number > 0 && *number < UINT32_MAX)
    return StarterAccount{static_cast<uint32_t>(*number), static_cast<uint32_t>(*number)};
  TRY_ASSIGN(const RunAs account, find_user(name));
  if (account.uid == 0) return invalid("--client {}: is root, and needs no starter", excerpt(name));
  return StarterAccount{account.uid, account.gid};
}

/// "0-3,6". @return empty for an empty text: all
Result<std::set<int>> starter_gpus_of(const std::string& text) {
  constexpr int64_t kMostGpus = 1024;
  std::set<int> gpus;
  if (text.empty()) return gpus;
  for (const std::string_view part : split(text, ',')) {
    const auto ends = split(part, '-');
    const auto first = parse_int(ends.front()), last = parse_int(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first || *last >= kMostGpus)
      return invalid("--gpus {}: give indexes such as 0-3,6", excerpt(text));
    for (int64_t gpu = *first; gpu <= *last; ++gpu)
      gpus.insert(static_cast<int>(gpu));
  }
  return gpus;
}

/// Whoever may write one of them could put something else in the place of the folder that root works in.
Status check_starter_folder(const std::filesystem::path& folder) {
  for (std::filesystem::path at = folder;; at = at.parent_path()) {
    struct stat status = {};
    if (::lstat(at.c_str(), &status) != 0) return make_error(ErrorCode::kUnavailable, "{}: cannot be looked at", at.string());
    const bool of_root = status.st_uid == 0 || status.st_uid == ::geteuid();
    const bool others_write = (status.st_mode & 022) != 0 && ((status.st_mode & S_ISVTX) == 0 || at == folder);
    if (!S_ISDIR(status.st_mode) || !of_root || others_write)
      return invalid("--state {}: {} must be a folder of root's that no other account can write", folder.string(), at.string());
    if (at == at.parent_path()) return {};
  }
}

Result<StarterPolicy> starter_policy_of(const StarterArguments& arguments, const StarterAccount& client) {
  StarterPolicy policy;
  policy.client = client.uid;
  TRY_ASSIGN(policy.gpus, starter_gpus_of(arguments.gpus));
  TRY_ASSIGN(const JobAccounts accounts, accounts_of_jobs(arguments.jobs));
  if ((accounts.one && accounts.one->uid == client.uid) || (accounts.range && accounts.range->contains(client.uid)))
    return invalid("--client {}: jobs would have its account, and could read the daemon's tokens", excerpt(arguments.client));
  const std::string& state = arguments.jobs.state_folder;
  policy.jobs = local_backend_options(arguments.jobs, accounts, state, state + "/accounts.json");
  if (!arguments.nvml_library.empty()) policy.jobs.clear.nvml_library = arguments.nvml_library;
  return policy;
}

Status run_starter(StarterArguments arguments) {
  std::error_code failed;
  arguments.jobs.state_folder = std::filesystem::absolute(arguments.jobs.state_folder, failed).lexically_normal().string();
  if (arguments.jobs.state_folder.ends_with('/')) arguments.jobs.state_folder.pop_back();
  TRY(read_local_job_options(arguments.jobs, arguments.texts));
  TRY_ASSIGN(const StarterAccount client, starter_client_of(arguments.client));
  TRY_ASSIGN(StarterPolicy policy, starter_policy_of(arguments, client));
  if (::mkdir(arguments.jobs.state_folder.c_str(), 0711) == 0) (void)::chmod(arguments.jobs.state_folder.c_str(), 0711);
  TRY(check_starter_folder(arguments.jobs.state_folder));
  TRY_ASSIGN(const LockFile lock, LockFile::take(arguments.jobs.state_folder + "/starter.lock"));
  const ServiceManager manager;
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT})
    sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  TRY_ASSIGN(Descriptor listener, listen_on_socket(arguments.socket, client.gid));
  StarterServer server(std::move(policy), std::move(listener),
                       [](const std::string& what) { fmt::print(stderr, "stint starter: {}\n", what); });
  std::jthread serves([&server] { server.run(); });
  const std::string listening = fmt::format("listening on {} for user {}", arguments.socket, client.uid);
  fmt::print(stderr, "stint starter: {}\n", listening);
  manager.ready(listening);
  int signal = 0;
  sigwait(&ending, &signal);
  manager.stopping();
  server.stop();
  return {};
}

}  // namespace

void add_starter_command(Command& app, Action& action) {
  auto options = std::make_shared<StarterArguments>();
  Command* command =
      app.add_subcommand("starter", "As root: starts the jobs of a daemon that has no rights itself (stint daemon --starter)");
  command->add_option("--state", options->jobs.state_folder, "folder of root's alone for what runs, and what jobs print")
      ->required();
  command->add_option("--client", options->client, "the daemon's account, which alone may ask: a name, or a user id")->required();
  command->add_option("--socket", options->socket, "path of the Unix socket to listen on")->capture_default_str();
  command->add_option("--gpus", options->gpus, "indexes of the GPUs that jobs may have, such as 0-3,6; else all");
  command->add_option("--nvml-library", options->nvml_library, "NVIDIA's library, where it is not libnvidia-ml.so.1");
  add_local_job_options(*command, options->jobs, options->texts);
  command->footer("Example: stint starter --state /var/lib/stint/work --client stint --jobs-as-range 70000-79999");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_starter(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
