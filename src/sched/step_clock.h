// Time, and what has changed since: by these numbers a search that was in vain knows whether another may find something.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace stint::sched {

struct StepClock {
  Instant now;
  uint64_t changes = 1;        ///< grows with everything that may let a search for jobs to stop or to move find something
  uint64_t room_made = 1;      ///< grows with all that may let a task be placed: one leaves, a node comes
  uint64_t fleet_changes = 1;  ///< grows when a node comes, goes or is drained
};

}  // namespace stint::sched
