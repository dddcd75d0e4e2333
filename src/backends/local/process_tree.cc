#include "backends/local/process_tree.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "backends/local/task_folder.h"

namespace stint {
namespace {

// While what was killed takes its time to go.
constexpr int kSweepPauseMs = 20;

std::vector<pid_t> children_but(pid_t leader, const std::vector<pid_t>& others) {
  std::vector<pid_t> found;
  for (const int64_t child : children_of(::getpid()))
    if (child != leader && std::find(others.begin(), others.end(), static_cast<pid_t>(child)) == others.end())
      found.push_back(static_cast<pid_t>(child));
  return found;
}

}  // namespace

void ProcessTree::adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void ProcessTree::look(const std::vector<pid_t>& others) {
  siginfo_t ended = {};
  if (::waitid(P_PID, static_cast<id_t>(leader_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == leader_)
    leader_ended_ = true;
  for (const pid_t orphan : children_but(leader_, others))
    ::waitpid(orphan, nullptr, WNOHANG);
}

bool ProcessTree::all_ended(const std::vector<pid_t>& others) const {
  return leader_ended_ && children_but(leader_, others).empty();
}

void ProcessTree::signal(int signal) const { ::kill(-leader_, signal); }

ExitStatus ProcessTree::kill_all(const std::vector<pid_t>& others) {
  signal(SIGKILL);
  int raw = 0;
  while (::waitpid(leader_, &raw, 0) < 0 && errno == EINTR) {
  }
  // The orphans of what is killed come to this process in turn.
  for (auto left = children_but(-1, others); !left.empty(); left = children_but(-1, others)) {
    for (const pid_t child : left)
      ::kill(child, SIGKILL);
    ::poll(nullptr, 0, 1);
    bool buried = true;
    for (const pid_t child : left)
      buried = ::waitpid(child, nullptr, WNOHANG) != 0 && buried;
    if (!buried) ::poll(nullptr, 0, kSweepPauseMs);
  }
  if (WIFSIGNALED(raw)) return {.code = 0, .signal = WTERMSIG(raw)};
  return {.code = WEXITSTATUS(raw), .signal = 0};
}

}  // namespace stint
