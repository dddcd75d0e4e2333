#include "host/process.h"

#include "host/beside.h"
#include "host/descriptor.h"
#include "host/fed_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

namespace stint {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : signals)
    sigaddset(&set, s);
  return set;
}

sigset_t forwarded_signals() { return set_of({kForwarded[0], kForwarded[1], kForwarded[2], kForwarded[3], SIGCHLD}); }

std::chrono::steady_clock::time_point after(Duration d) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::max<int64_t>(0, d.count_ns()));
}

ExitStatus status_of(int raw) {
  if (WIFSIGNALED(raw)) return {.code = 0, .signal = WTERMSIG(raw)};
  return {.code = WEXITSTATUS(raw), .signal = 0};
}

/// Makes its group the terminal's foreground, when this process has the terminal: the child may read from it.
void give_terminal_to(pid_t group) {
  if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp()) return;
  // Setting it from the background stops the caller unless SIGTTOU is ignored.
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGTTOU, &ignore, &before);
  tcsetpgrp(STDIN_FILENO, group);
  sigaction(SIGTTOU, &before, nullptr);
}

void take_terminal_back(pid_t group) {
  if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != group) return;
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGTTOU, &ignore, &before);
  tcsetpgrp(STDIN_FILENO, getpgrp());
  sigaction(SIGTTOU, &before, nullptr);
}

/// A child's standard streams: −1 = the caller's.
struct Streams {
  int input = -1;
  int output = -1;
  int errors = -1;  ///< given = it reads nothing, and ends with who started it
  bool background = false;
};

/// What others leave of the processors.
void step_back() {
  (void)setpriority(PRIO_PROCESS, 0, 19);
  const sched_param none = {};
  (void)sched_setscheduler(0, SCHED_IDLE, &none);
}

/// No input; and its end with that of the thread that forked.
void stand_alone() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
}

/// In the child, after fork: async-signal-safe calls only. Reports a failed exec through `report`.
[[noreturn]] void become(char* const* arguments, int report, Streams streams) {
  setpgid(0, 0);
  const sigset_t none = set_of({});
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (streams.input >= 0) dup2(streams.input, STDIN_FILENO);
  if (streams.output >= 0) dup2(streams.output, STDOUT_FILENO);
  if (streams.errors >= 0) {
    dup2(streams.errors, STDERR_FILENO);
    stand_alone();
  }
  if (streams.background) step_back();
  execvp(arguments[0], arguments);
  const int code = errno;
  (void)!write(report, &code, sizeof code);
  _exit(127);
}

Result<pid_t> spawn(const std::vector<std::string>& command, Streams streams) {
  CHECK(!command.empty(), "no command");
  std::vector<char*> arguments;
  for (const std::string& part : command)
    arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> report = {};
  if (pipe2(report.data(), O_CLOEXEC) != 0)
    return make_error(ErrorCode::kUnavailable, "{}: cannot be started: {}", command[0], std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) become(arguments.data(), report[1], streams);
  close(report[1]);
  int code = 0;
  ssize_t n = -1;
  if (pid > 0) {
    setpgid(pid, pid);  // in both, so that it is done whoever runs first
    do
      n = read(report[0], &code, sizeof code);
    while (n < 0 && errno == EINTR);
  } else {
    code = errno;
  }
  close(report[0]);
  if (pid > 0 && n == 0) return pid;  // the pipe closed at exec
  if (pid > 0) waitpid(pid, nullptr, 0);
  return make_error(code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}: cannot be started: {}", command[0],
                    std::strerror(code));
}

/// A file in memory with the text, to be read from its beginning: no pipe that both ends could wait for.
Result<int> file_in_memory(std::string_view text) {
  const int fd = memfd_create("input", MFD_CLOEXEC);
  while (fd >= 0 && !text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.remove_prefix(static_cast<size_t>(n));
  }
  if (fd >= 0 && text.empty() && lseek(fd, 0, SEEK_SET) == 0) return fd;
  const int code = errno;
  if (fd >= 0) close(fd);
  return make_error(ErrorCode::kUnavailable, "no memory for a program's input: {}", std::strerror(code));
}

/// @param streams  but its output. The input is closed here. @param stop  null = never.
Result<CommandOutput> run(const std::vector<std::string>& command, Streams streams, Duration timeout, size_t most_bytes,
                          const std::atomic<bool>* stop = nullptr) {
  std::array<int, 2> output = {};
  const bool piped = pipe2(output.data(), O_CLOEXEC) == 0;
  const auto pid =
      piped ? spawn(command,
                    {.input = streams.input, .output = output[1], .errors = streams.errors, .background = streams.background})
            : Result<pid_t>(make_error(ErrorCode::kUnavailable, "{}: cannot be started: {}", command[0], std::strerror(errno)));
  if (streams.input >= 0) close(streams.input);
  if (!piped) return pid.error();
  close(output[1]);
  if (!pid) {
    close(output[0]);
    return pid.error();
  }
  const auto deadline = after(timeout);
  CommandOutput result;
  std::string failure;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (stop != nullptr && *stop) {
      failure = "stopped";
      break;
    }
    pollfd waiting = {.fd = output[0], .events = POLLIN, .revents = 0};
    const int64_t patience = std::min<int64_t>(left, stop == nullptr ? 1'000'000 : 100);
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(patience)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > patience) continue;
    if (ready <= 0) {
      failure = fmt::format("did not end within {} s", timeout.to_seconds());
      break;
    }
    std::array<char, 65536> piece;
    const ssize_t n = read(output[0], piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.standard_output.append(piece.data(), static_cast<size_t>(n));
    if (result.standard_output.size() > most_bytes) {
      failure = fmt::format("prints more than {} MiB", most_bytes >> 20);
      break;
    }
  }
  close(output[0]);
  if (!failure.empty()) kill(-*pid, SIGKILL);
  int raw = 0;
  while (waitpid(*pid, &raw, 0) < 0 && errno == EINTR) {
  }
  if (!failure.empty()) return make_error(ErrorCode::kUnavailable, "{}: {}", command[0], failure);
  result.status = status_of(raw);
  return result;
}

/// What was written to it last.
std::string end_of(int file) {
  constexpr off_t kMost = 4096;
  const off_t size = lseek(file, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::clamp<off_t>(size, 0, kMost)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), std::max<off_t>(0, size - kMost));
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  return text;
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command) {
  // Blocked from here on, and taken one by one in wait_for().
  const sigset_t waited = forwarded_signals();
  pthread_sigmask(SIG_BLOCK, &waited, nullptr);
  const auto pid = spawn(command, {});
  if (!pid) {
    pthread_sigmask(SIG_UNBLOCK, &waited, nullptr);
    return pid.error();
  }
  give_terminal_to(*pid);
  return ChildProcess(*pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  if (!ended_) {
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  take_terminal_back(pid_);
  const sigset_t waited = forwarded_signals();
  pthread_sigmask(SIG_UNBLOCK, &waited, nullptr);
}

std::optional<ExitStatus> ChildProcess::wait_for(Duration timeout) {
  const auto deadline = after(timeout);
  const sigset_t waited = forwarded_signals();
  while (!ended_) {
    int raw = 0;
    if (waitpid(pid_, &raw, WNOHANG) == pid_) {
      ended_ = status_of(raw);
      take_terminal_back(pid_);
      break;
    }
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds(0)) return std::nullopt;
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec pause = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    const int signal = sigtimedwait(&waited, nullptr, &pause);
    if (signal > 0 && signal != SIGCHLD) kill(-pid_, signal);
  }
  return ended_;
}

Result<CommandOutput> run_command(const std::vector<std::string>& command, Duration timeout, size_t most_bytes) {
  return run(command, {}, timeout, most_bytes);
}

Result<CommandOutput> run_fed_command(const std::vector<std::string>& command, std::string_view standard_input, Duration timeout,
                                      size_t most_bytes) {
  TRY_ASSIGN(const int input, file_in_memory(standard_input));
  return run(command, {.input = input}, timeout, most_bytes);
}

namespace {

Result<CommandOutput> run_alone(const std::vector<std::string>& command, Duration timeout, size_t most_bytes,
                                const std::atomic<bool>& stop, bool background) {
  TRY_ASSIGN(const int errors, file_in_memory(""));
  const Descriptor file(errors);
  auto done = run(command, {.errors = errors, .background = background}, timeout, most_bytes, &stop);
  if (done.ok()) done->standard_error = end_of(errors);
  return done;
}

}  // namespace

Result<CommandOutput> run_in_background(const std::vector<std::string>& command, Duration timeout, size_t most_bytes,
                                        const std::atomic<bool>& stop) {
  return run_alone(command, timeout, most_bytes, stop, true);
}

Result<CommandOutput> run_beside(const std::vector<std::string>& command, Duration timeout, size_t most_bytes,
                                 const std::atomic<bool>& stop) {
  return run_alone(command, timeout, most_bytes, stop, false);
}

}  // namespace stint
