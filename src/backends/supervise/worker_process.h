// A function in a forked copy of this process, for long reading and writing beside a loop that must stay quick.
//
// For a process without threads. The copy dies with the one that made it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/descriptor.h"

namespace stint {

class WorkerProcess {
 public:
  /// Runs `function` with lowered priority. What it returns is handed over whole.
  static Result<WorkerProcess> start(const std::function<std::string()>& function);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  /// One still running is killed and waited for.
  ~WorkerProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable when poll() has something to read.
  [[nodiscard]] int descriptor() const { return pipe_.get(); }
  /// none = still at work; an error when it came to no end.
  std::optional<Result<std::string>> poll();

 private:
  WorkerProcess(pid_t pid, Descriptor pipe) : pid_(pid), pipe_(std::move(pipe)) {}
  pid_t pid_ = -1;
  Descriptor pipe_;
  std::string received_;
};

}  // namespace stint
