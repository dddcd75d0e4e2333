#include "daemon/local_jobs.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "host/file.h"

namespace stint {
namespace {

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

/// A fork bomb must leave the machine, and others' jobs, numbers for their processes.
int64_t usual_process_limit() {
  constexpr int64_t kUsual = 16'384;
  const auto most = parse_int(trim(read_kernel_file("/proc/sys/kernel/pid_max")));
  return most ? std::max<int64_t>(std::min(kUsual, *most / 4), 1) : kUsual;
}

}  // namespace

Result<RunAs> find_user(const std::string& name) {
  std::vector<char> buffer(65536);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return make_error(ErrorCode::kNotFound, "no user '{}' on this machine to run jobs as: make one, or name another", name);
  return RunAs{entry.pw_uid, entry.pw_gid};
}

Result<JobAccounts> accounts_of_jobs(const DaemonOptions& options) {
  JobAccounts accounts;
  if (options.simulate || !options.starter.empty()) return accounts;
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

LocalBackend::Options local_backend_options(const DaemonOptions& options, const JobAccounts& accounts, std::string state_folder,
                                            std::string book) {
  LocalBackend::Options local;
  local.state_folder = std::move(state_folder);
  local.cgroup = options.cgroup;
  local.run_as = accounts.one;
  local.more_devices = options.job_devices;
  local.keep_free = options.disk_reserve + Bytes::of(options.disk_reserve.count() / 2);  // what jobs print gives way first
  local.most_processes = options.job_processes > 0 ? options.job_processes : usual_process_limit();
  local.most_log = options.job_log_limit;
  local.usual_memory = options.job_memory;
  if (accounts.range) local.accounts = {.range = *accounts.range, .book = std::move(book)};
  const std::string homes = options.jobs_home.empty() ? options.state_folder + "-jobs" : options.jobs_home;
  local.homes = std::filesystem::absolute(homes).lexically_normal().string();
  local.scrub = options.gpu_scrub;
  return local;
}

}  // namespace stint
