// The time of a supervisor's decisions.
#pragma once

#include <chrono>

#include "base/time.h"
#include "host/clock.h"

namespace stint {

/// The wall clock at the start and what has passed since: a clock that is set back or forth changes no pause.
class SteadyTime {
 public:
  [[nodiscard]] Instant operator()() const {
    return wall_ + Duration::nanoseconds(std::chrono::nanoseconds(std::chrono::steady_clock::now() - steady_).count());
  }

 private:
  Instant wall_ = now();
  std::chrono::steady_clock::time_point steady_ = std::chrono::steady_clock::now();
};

}  // namespace stint
