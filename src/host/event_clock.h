// Time for events: the wall clock's, but it never goes back and does not stand still either.
//
// It advances with the monotonic clock from where it was begun. When the wall clock is found ahead (set forward, or the
// machine slept), it jumps ahead with it; when the wall clock is behind (set back), it goes on by itself until that has
// caught up.
#pragma once

#include "base/time.h"

namespace stint {

class EventClock {
 public:
  /// @param not_before  the last instant told by an earlier process; never earlier than that.
  explicit EventClock(Instant not_before) : told_(not_before) {}

  /// What time it is, from readings of both clocks. @param monotonic  since any fixed moment.
  Instant tell(Instant wall, Duration monotonic);
  /// The same, reading the clocks of this machine.
  Instant now();

 private:
  Instant told_;
  Duration at_ = Duration::nanoseconds(-1);  // monotonic, when `told_` was told; below 0 = not yet
};

}  // namespace stint
