#include "backends/local/task_process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "backends/local/device_group.h"
#include "backends/local/task_environment.h"
#include "backends/local/task_room.h"
#include "backends/system_error.h"
#include "host/descriptor.h"

namespace stint {
namespace {

/// Everything the child needs, looked up before the fork.
struct Prepared {
  const TaskPlan* plan = nullptr;
  const TaskCgroup* cgroup = nullptr;
  TaskUser user;
  std::vector<gid_t> groups;
  std::vector<std::string> environment;
  Descriptor output;  ///< the backend's own file; not valid = the launch names one
  Descriptor error;
  Descriptor script;
  bool limits_data = false;
  bool limits_processes = false;
  pid_t keeper = -1;
};

struct Failure {
  int code = 0;
  std::array<char, 32> step = {};
};

void look_up_user(const RunAs& who, Prepared& to) {
  std::vector<char> buffer(65536);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwuid_r(who.uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    // A number without a name runs all the same, in its one group.
    to.user = {.name = std::to_string(who.uid), .home = "/", .shell = "/bin/sh"};
    to.groups = {who.gid};
    return;
  }
  to.user = {.name = entry.pw_name, .home = entry.pw_dir, .shell = entry.pw_shell};
  int count = 64;
  to.groups.resize(static_cast<size_t>(count));
  if (getgrouplist(entry.pw_name, who.gid, to.groups.data(), &count) < 0) {
    to.groups.resize(static_cast<size_t>(count));
    getgrouplist(entry.pw_name, who.gid, to.groups.data(), &count);
  }
  to.groups.resize(static_cast<size_t>(count));
}

Descriptor open_log(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640));
}

/// The backend's own log, in a folder that only it can write: made here, given to the task's user.
Result<Descriptor> open_own_log(const std::string& path, const std::optional<RunAs>& owner) {
  Descriptor log = open_log(path);
  if (!log.valid()) return system_error(path, "cannot be opened");
  if (owner && ::geteuid() == 0 && ::fchown(log.get(), owner->uid, owner->gid) != 0)
    return system_error(path, "cannot be given to its user");
  return log;
}

/// The script as a file without a name, so that no folder has to be open to its user.
Result<Descriptor> script_file(const std::string& text) {
  // Not closed at exec: the interpreter opens it as /dev/fd/N.
  Descriptor file(::memfd_create("stint-script", 0));
  if (!file.valid()) return system_error("script", "cannot be kept");
  for (std::string_view left = text; !left.empty();) {
    const ssize_t n = ::write(file.get(), left.data(), left.size());
    if (n <= 0) return system_error("script", "cannot be kept");
    left.remove_prefix(static_cast<size_t>(n));
  }
  (void)::fchmod(file.get(), 0555);
  return file;
}

Result<Prepared> prepare(const TaskPlan& plan, const TaskCgroup& cgroup, const std::string& mark) {
  const Launch& launch = plan.launch;
  Prepared p;
  p.plan = &plan;
  p.cgroup = &cgroup;
  p.keeper = ::getpid();
  look_up_user(launch.run_as.value_or(RunAs{::geteuid(), ::getegid()}), p);
  if (!plan.room.home.empty()) p.user.home = plan.room.home;
  TRY(make_room(plan));
  p.environment = environment_of(launch, p.user, mark);
  if (launch.output_path.empty()) {
    TRY_ASSIGN(p.output, open_own_log(plan.log_base + ".out", launch.run_as));
  }
  if (launch.error_path.empty()) {
    TRY_ASSIGN(p.error, open_own_log(plan.log_base + ".err", launch.run_as));
  }
  if (!launch.script.empty()) {
    TRY_ASSIGN(p.script, script_file(launch.script));
  }
  return p;
}

/// In the child: says which step failed, through `report`, and ends.
[[noreturn]] void give_up(int report, const char* step) {
  Failure failure{.code = errno, .step = {}};
  std::strncpy(failure.step.data(), step, failure.step.size() - 1);
  (void)!::write(report, &failure, sizeof failure);
  ::_exit(127);
}

void leave_privileges(const Prepared& p, int report) {
  const auto& who = p.plan->launch.run_as;
  if (!who || (::geteuid() != 0 && ::geteuid() == who->uid)) return;
  if (::setgroups(p.groups.size(), p.groups.data()) != 0) give_up(report, "groups");
  if (::setresgid(who->gid, who->gid, who->gid) != 0) give_up(report, "group");
  if (::setresuid(who->uid, who->uid, who->uid) != 0) give_up(report, "user");
}

void set_up_streams(const Prepared& p, int report) {
  const Launch& launch = p.plan->launch;
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || ::dup2(null, STDIN_FILENO) < 0) give_up(report, "/dev/null");
  const Descriptor output = launch.output_path.empty() ? Descriptor() : open_log(launch.output_path);
  if (!launch.output_path.empty() && !output.valid()) give_up(report, "output file");
  if (::dup2(output.valid() ? output.get() : p.output.get(), STDOUT_FILENO) < 0) give_up(report, "output file");
  const Descriptor error = launch.error_path.empty() ? Descriptor() : open_log(launch.error_path);
  if (!launch.error_path.empty() && !error.valid()) give_up(report, "error file");
  if (::dup2(error.valid() ? error.get() : p.error.get(), STDERR_FILENO) < 0) give_up(report, "error file");
}

void limit_data(Bytes memory, int report) {
  const rlimit limit = {static_cast<rlim_t>(memory.count()), static_cast<rlim_t>(memory.count())};
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) give_up(report, "memory limit");
}

/// Of its user, over all tasks. Root is not held to it, and the daemon's own user would be, too.
void limit_processes(int64_t most, int report) {
  const rlimit limit = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  if (::setrlimit(RLIMIT_NPROC, &limit) != 0) give_up(report, "process limit");
}

[[noreturn]] void become(const Prepared& p, int report) {
  const Launch& launch = p.plan->launch;
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGCHLD, SIGHUP, SIGINT, SIGTERM})
    ::signal(signal, SIG_DFL);
  if (!p.cgroup->enter()) give_up(report, "cgroup");
  if (!enter_device_group(p.plan->room.device_group)) give_up(report, "device group");
  if (const char* failed = enter_room(p.plan->room, p.user.home)) give_up(report, failed);
  if (launch.memory > Bytes() && p.limits_data) limit_data(launch.memory, report);
  if (p.limits_processes) limit_processes(p.plan->most_processes, report);
  leave_privileges(p, report);
  // After the change of user, which would undo it; and if the keeper was faster to die, nothing is there to do it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != p.keeper) ::_exit(127);
  ::umask(022);
  set_up_streams(p, report);
  const std::string& folder = launch.folder.empty() ? p.user.home : launch.folder;
  if (::chdir(folder.c_str()) != 0 && (!launch.folder.empty() || ::chdir("/") != 0)) give_up(report, "folder");
  std::vector<char*> arguments, environment;
  for (const std::string& part : launch.command)
    arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  for (const std::string& line : p.environment)
    environment.push_back(const_cast<char*>(line.c_str()));
  environment.push_back(nullptr);
  if (p.script.valid()) {
    ::fexecve(p.script.get(), arguments.data(), environment.data());
    give_up(report, "script's interpreter");
  }
  // Looked for in the task's own PATH, not the keeper's.
  ::environ = environment.data();
  ::execvp(arguments[0], arguments.data());
  give_up(report, "program");
}

Error failure_of(const Failure& failure, const Launch& launch) {
  const std::string_view step(failure.step.data());
  const std::string what = step == "program"       ? launch.command[0]
                           : step == "folder"      ? launch.folder
                           : step == "output file" ? launch.output_path
                           : step == "error file"  ? launch.error_path
                                                   : std::string(step);
  return make_error(failure.code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                    "launch {}: cannot be started: {} ({}): {}", format_key(launch.key), what, step, std::strerror(failure.code));
}

}  // namespace

Result<pid_t> start_task_process(const TaskPlan& plan, const TaskCgroup& cgroup, const std::string& mark) {
  TRY_ASSIGN(Prepared prepared, prepare(plan, cgroup, mark));
  prepared.limits_data = !cgroup.limits_memory();
  const auto& user = plan.launch.run_as;
  prepared.limits_processes =
      plan.most_processes > 0 && !cgroup.limits_processes() && user && user->uid != 0 && user->uid != ::geteuid();
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("pipe", "cannot be made");
  const Descriptor from(ends[0]);
  Descriptor report(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) become(prepared, report.get());
  if (pid < 0) return system_error("process", "cannot be started");
  report.close();
  Failure failure;
  ssize_t n = 0;
  do
    n = ::read(from.get(), &failure, sizeof failure);
  while (n < 0 && errno == EINTR);
  if (n == 0) return pid;  // the pipe closed at exec, or the child was killed before: its end is told like any other
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return failure_of(failure, plan.launch);
}

}  // namespace stint
