// Time as the batcher is told it: it only ever goes forward, and says nothing of the date.
#pragma once

#include <chrono>

#include "base/time.h"

namespace stint::serve {

inline Instant steady_now() {
  return Instant::from_ns(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}
inline std::chrono::steady_clock::time_point chrono_of(Instant at) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at.ns()));
}

}  // namespace stint::serve
