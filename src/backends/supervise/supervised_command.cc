#include "backends/supervise/supervised_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "host/descriptor.h"

namespace stint {
namespace {

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment, int report, pid_t maker) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != maker) ::_exit(127);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Its group is not the terminal's: reading from it would stop the command.
  if (::isatty(STDIN_FILENO) == 1) {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) ::dup2(null, STDIN_FILENO);
  }
  for (const auto& [name, value] : environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& part : command)
    arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int code = errno;
  (void)!::write(report, &code, sizeof code);
  ::_exit(127);
}

/// The script that an interpreter is told to run, where that is plain to see: `python3 -u train.py`, not `python3 -m train`.
/// @return "" when there is none.
std::string script_of(const std::vector<std::string>& command) {
  constexpr std::array<std::string_view, 9> kInterpreters = {"python", "sh",   "bash", "dash",   "zsh",
                                                             "perl",   "ruby", "node", "Rscript"};
  constexpr std::array<std::string_view, 7> kPlainFlags = {"-u", "-B", "-O", "-e", "-x", "-eu", "-ex"};
  const std::string& path = command[0];
  std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 = 0
  while (!name.empty() && name.starts_with("python") && name.size() > 6)
    name.remove_suffix(1);  // python3, python3.11
  if (std::ranges::find(kInterpreters, name) == kInterpreters.end()) return "";
  size_t at = 1;
  while (at < command.size() && std::ranges::find(kPlainFlags, command[at]) != kPlainFlags.end())
    ++at;
  return at < command.size() && !command[at].starts_with('-') ? command[at] : "";
}

}  // namespace

Result<pid_t> start_supervised(const std::vector<std::string>& command,
                               const std::vector<std::pair<std::string, std::string>>& environment) {
  CHECK(!command.empty(), "no command");
  if (const std::string script = script_of(command); !script.empty() && ::access(script.c_str(), F_OK) != 0 && errno == ENOENT)
    return make_error(ErrorCode::kNotFound, "{}: there is no such script: name its path, or go to its folder first", script);
  const auto failed = [&](int code) {
    return make_error(code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}: cannot be started: {}", command[0],
                      std::strerror(code));
  };
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(errno);
  const Descriptor from(ends[0]);
  Descriptor report(ends[1]);
  const pid_t maker = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(command, environment, report.get(), maker);
  if (pid < 0) return failed(errno);
  ::setpgid(pid, pid);  // in both, so that it is done whoever runs first
  report.close();
  int code = 0;
  ssize_t n = 0;
  do
    n = ::read(from.get(), &code, sizeof code);
  while (n < 0 && errno == EINTR);
  if (n == 0) return pid;  // the pipe closed at exec
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return failed(code);
}

}  // namespace stint
