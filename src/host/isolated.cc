#include "host/isolated.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace stint {
namespace {

// Ends what was said and begins the result. No message contains it.
constexpr char kResultFollows = '\x01';

struct Running {
  int64_t index = 0;
  pid_t pid = -1;
  int pipe = -1;
  std::string received;
};

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(to, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

[[noreturn]] void be_the_child(int to, Duration limit, const std::function<std::string(int64_t)>& function, int64_t index) {
  ::dup2(to, STDERR_FILENO);
  ::alarm(static_cast<unsigned>(limit.whole_seconds()));
  const std::string result = function(index);
  std::fflush(stderr);
  write_all(to, std::string_view(&kResultFollows, 1));
  write_all(to, result);
  _exit(0);  // no destructors and no buffers of the parent's
}

Result<Running> start(int64_t index, Duration limit, const std::function<std::string(int64_t)>& function) {
  int ends[2];
  if (::pipe(ends) != 0) return make_error(ErrorCode::kInternal, "no pipe for a worker process: {}", std::strerror(errno));
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return make_error(ErrorCode::kInternal, "no worker process: {}", std::strerror(errno));
  }
  if (pid == 0) {
    ::close(ends[0]);
    be_the_child(ends[1], limit, function, index);
  }
  ::close(ends[1]);
  return Running{index, pid, ends[0], {}};
}

// @return false at the end of what it says.
bool receive(Running& from) {
  char buffer[16384];
  const ssize_t n = ::read(from.pipe, buffer, sizeof buffer);
  if (n > 0) from.received.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

IsolatedOutcome reap(Running& ended) {
  ::close(ended.pipe);
  int status = 0;
  while (::waitpid(ended.pid, &status, 0) < 0 && errno == EINTR) {
  }
  IsolatedOutcome outcome;
  if (WIFEXITED(status)) outcome.status.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.status.signal = WTERMSIG(status);
  const size_t mark = ended.received.find(kResultFollows);
  outcome.said = ended.received.substr(0, mark);
  if (mark != std::string::npos) outcome.result = ended.received.substr(mark + 1);
  return outcome;
}

}  // namespace

Status run_isolated(int64_t count, int workers, Duration limit, const std::function<std::string(int64_t)>& function,
                    const std::function<bool(int64_t, const IsolatedOutcome&)>& done) {
  std::vector<Running> running;
  std::vector<pollfd> polled;
  Status failed;
  for (int64_t next = 0; next < count || !running.empty();) {
    while (next < count && running.size() < static_cast<size_t>(workers)) {
      Result<Running> started = start(next, limit, function);
      if (!started.ok()) {
        failed = started.error();
        count = next;
        break;
      }
      running.push_back(std::move(started).value());
      ++next;
    }
    polled.clear();
    for (const Running& r : running)
      polled.push_back({r.pipe, POLLIN, 0});
    if (running.empty() || ::poll(polled.data(), polled.size(), -1) < 0) continue;
    for (size_t i = running.size(); i-- > 0;) {
      if (polled[i].revents == 0 || receive(running[i])) continue;
      const IsolatedOutcome outcome = reap(running[i]);
      const int64_t index = running[i].index;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      if (!done(index, outcome)) count = next;
    }
  }
  return failed;
}

}  // namespace stint
