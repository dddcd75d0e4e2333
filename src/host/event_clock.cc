#include "host/event_clock.h"

#include <algorithm>
#include <chrono>

#include "host/clock.h"

namespace stint {

Instant EventClock::tell(Instant wall, Duration monotonic) {
  const Duration passed = at_ < Duration() ? Duration() : std::max(monotonic - at_, Duration());
  told_ = std::max(told_ + passed, wall);
  at_ = monotonic;
  return told_;
}

Instant EventClock::now() {
  const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
  return tell(stint::now(), Duration::nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(monotonic).count()));
}

}  // namespace stint
