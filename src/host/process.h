// Child processes in their own groups, so that a signal reaches all they started.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// How a process ended.
struct ExitStatus {
  int code = 0;    ///< of exit(), when `signal` is 0
  int signal = 0;  ///< that ended it; 0 = none
  /// As a shell reports it: the code, or 128 + signal.
  [[nodiscard]] int shell_code() const { return signal == 0 ? code : 128 + signal; }
};

/// A running command with the caller's standard streams and terminal.
class ChildProcess {
 public:
  /// @param command  program (searched in PATH) and its arguments, at least one.
  /// @return kNotFound when there is no such program.
  static Result<ChildProcess> start(const std::vector<std::string>& command);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  /// A child still running is killed with its group and waited for.
  ~ChildProcess();

  /// Waits until it ends, at most so long. SIGINT, SIGTERM, SIGHUP and SIGQUIT that come in the meantime go to its group.
  /// @return none when the time is up first.
  std::optional<ExitStatus> wait_for(Duration timeout);
  [[nodiscard]] int pid() const { return pid_; }

 private:
  explicit ChildProcess(int pid) : pid_(pid) {}
  int pid_ = -1;
  std::optional<ExitStatus> ended_;
};

struct CommandOutput {
  ExitStatus status;
  std::string standard_output;
  std::string standard_error;  ///< its end; of one in the background alone
};
/// Runs a short command and returns what it prints. @return error when it does not start, or prints more than `most_bytes`
/// or runs longer than `timeout`; it is then killed.
Result<CommandOutput> run_command(const std::vector<std::string>& command, Duration timeout,
                                  size_t most_bytes = size_t{16} << 20);
/// The same for a long one that is to disturb nothing else: it gets what processors others leave, reads nothing, and ends with the thread
/// that called. @param stop  looked at several times a second: true ends it, and is an error.
Result<CommandOutput> run_in_background(const std::vector<std::string>& command, Duration timeout, size_t most_bytes,
                                        const std::atomic<bool>& stop);

}  // namespace stint
