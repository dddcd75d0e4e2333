// Time for events: near the wall clock's, but it never goes back, and a second of it is a second.
//
// It advances with the time since boot, so that what is measured by it (how long a job ran, what it cost, when its limit is
// reached) is right when somebody sets the wall clock. It approaches the wall clock where the two differ: by one thousandth of
// the time that passes, which follows a clock that drifts (NTP allows 500 parts in a million, RFC 5905) and changes no bill by
// more than that; and at once, forward, while nothing is measured. A daemon that is started again on the same boot goes on with
// the clock of the one before, by the file that it keeps.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// How far the clock is ahead of the time since boot, on which boot.
struct ClockMark {
  std::string boot_id;
  Duration ahead;
};
std::string to_json(const ClockMark& mark);
/// @return error: it is no such record, or its time is before 1970 or after 2220.
Result<ClockMark> parse_clock_mark(std::string_view json);

/// Copies are the same clock. Threads may share it.
class EventClock {
 public:
  /// @param not_before  the last instant that an earlier process has given; never earlier than that.
  explicit EventClock(Instant not_before);
  /// The same, going on as the file says if that is of this boot, and keeping the file. A file that cannot be read or written
  /// changes nothing before the next start.
  static EventClock kept_in(const std::string& path, Instant not_before);

  /// Whether a wall clock more than a second ahead is followed at once; it is until this is said. The first reading follows it
  /// in any case, unless the clock goes on with an earlier one.
  void may_step(bool may);
  /// What time it is, from readings of both clocks. @param since_boot  suspended time included.
  Instant read(Instant wall, Duration since_boot);
  /// The same, reading the clocks of this machine.
  Instant now();
  /// How far it was ahead of the wall clock at the last reading; below 0 = behind.
  [[nodiscard]] Duration ahead_of_wall() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stint
