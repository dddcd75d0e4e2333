#include "backends/supervise/worker_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

namespace stint {
namespace {

constexpr int kLowPriority = 10;

[[noreturn]] void work(int to, pid_t maker, const std::function<std::string()>& function) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != maker) ::_exit(1);
  // In its own group: what a terminal sends to the maker's group is for the maker to answer.
  ::setpgid(0, 0);
  ::setpriority(PRIO_PROCESS, 0, kLowPriority);
  std::string result = function();
  for (std::string_view left = result; !left.empty();) {
    const ssize_t n = ::write(to, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);
    left.remove_prefix(static_cast<size_t>(n));
  }
  ::_exit(0);
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const std::function<std::string()>& function) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return make_error(ErrorCode::kUnavailable, "no pipe for a worker process: {}", std::strerror(errno));
  Descriptor from(ends[0]);
  const Descriptor to(ends[1]);
  std::fflush(nullptr);
  const pid_t maker = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) work(to.get(), maker, function);
  if (pid < 0) return make_error(ErrorCode::kUnavailable, "no worker process: {}", std::strerror(errno));
  ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  return WorkerProcess(pid, std::move(from));
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pipe_(std::move(other.pipe_)), received_(std::move(other.received_)) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<Result<std::string>> WorkerProcess::poll() {
  std::array<char, 4096> piece = {};
  ssize_t n = 0;
  while ((n = ::read(pipe_.get(), piece.data(), piece.size())) > 0)
    received_.append(piece.data(), static_cast<size_t>(n));
  if (n < 0) return std::nullopt;
  int raw = 0;
  while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(raw) && WEXITSTATUS(raw) == 0) return Result<std::string>(std::move(received_));
  return Result<std::string>(make_error(ErrorCode::kUnavailable, "a worker process came to no end (status {})", raw));
}

}  // namespace stint
