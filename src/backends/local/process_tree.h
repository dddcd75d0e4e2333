// A command with all it starts: signalled together, waited for together, and nothing of it left at the end.
//
// Its first process leads its own group. Whatever it leaves behind becomes a child of this process, which must be
// the only thread that waits for children, and is found and ended there.
#pragma once

#include <sys/types.h>

#include <vector>

#include "host/process.h"

namespace stint {

class ProcessTree {
 public:
  /// Makes this process the one that orphans come to. Before the first tree.
  static void adopt_orphans();

  /// @param leader  a child of this process, leader of its group, not waited for.
  explicit ProcessTree(pid_t leader) : leader_(leader) {}
  [[nodiscard]] pid_t leader() const { return leader_; }

  /// After each SIGCHLD. @param others  children of this process that have nothing to do with the tree.
  void look(const std::vector<pid_t>& others);
  /// As of the last look(). It is not buried before kill_all(): so long its number goes to no other process.
  [[nodiscard]] bool leader_ended() const { return leader_ended_; }
  /// Has all of it ended?
  [[nodiscard]] bool all_ended(const std::vector<pid_t>& others) const;
  /// To the leader's group, also when the leader itself has ended.
  void signal(int signal) const;
  /// Ends and buries what is left. The tree is of no use after. @return how the leader ended.
  ExitStatus kill_all(const std::vector<pid_t>& others);

 private:
  pid_t leader_;
  bool leader_ended_ = false;
};

}  // namespace stint
