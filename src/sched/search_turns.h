// Whose turn it is to be searched for, where one step makes fewer searches than are worth it: a burst of jobs, each of a shape of its own,
// makes no step long. What is left over comes in the steps that follow, and each shape once before any comes again.
#pragma once

#include <cstdint>
#include <utility>

#include "sched/queues/pending.h"

namespace stint::sched {

/// A search for victims that was in vain. Repeated with the same state it would be in vain again.
struct Attempted {
  JobId job;  ///< not valid = there was none yet
  Rank rank;
  Instant at;
  uint64_t changes = 0;           ///< StepClock::changes then
  uint64_t turn = 0;              ///< of SearchTurns then
  Instant ripens = kNever;        ///< when the first of those looked at has run for long enough to be stopped
  int64_t too_large = INT64_MAX;  ///< milli-GPU of the smallest that was passed over because too little waits to fill its room
  Instant others_at = Instant::from_ns(INT64_MIN);  ///< when the heads of further queues were last tried, too
};
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
