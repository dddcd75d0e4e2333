#include "host/clock.h"

#include <chrono>

namespace stint {

Instant now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::system_clock;
  return Instant::from_ns(duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

}  // namespace stint
