// Whose turn it is to be searched for, where one step makes fewer searches than are worth it: a burst of jobs, each of a shape of its own,
// makes no step long. What is left over comes in the steps that follow, and each shape once before any comes again.
#pragma once

#include <cstdint>
#include <utility>

namespace stint::sched {

class SearchTurns {
 public:
  /// More are worth a search than this step makes: the turn goes on in the next one.
  void go_on_later() { unfinished_ = true; }
  /// All for which a search was worth it have had one.
  void finish() {
    ++turn_;
    ended_ = std::exchange(unfinished_, false);
  }

  [[nodiscard]] bool unfinished() const { return unfinished_; }
  /// Is there something to do soon whatever happens? After a turn of several steps those may come again that waited for its end.
  [[nodiscard]] bool wants_a_step() const { return unfinished_ || ended_; }
  [[nodiscard]] uint64_t turn() const { return turn_; }
  /// Must one that was searched for in that turn wait until the others have been?
  [[nodiscard]] bool waits_for_others(uint64_t turn) const { return unfinished_ && turn == turn_; }

 private:
  uint64_t turn_ = 1;
  bool unfinished_ = false;
  bool ended_ = false;  // in the last step, a turn of several
};

}  // namespace stint::sched
