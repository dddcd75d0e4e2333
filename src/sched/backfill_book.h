// What backfill keeps between two steps: reservations, and what they rest on.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/queues/running_order.h"
#include "sched/search_turns.h"

namespace stint::sched {

/// Room kept for a waiting job from `at` on.
struct Claim {
  NodeId node;
  int32_t gpus = 0;
  int32_t spare = 0;  ///< GPUs of the node that will be open at `at` beside this claim and earlier ones
};
struct Reservation {
  JobId job;
  Instant at;
  bool guessed = false;  ///< `at` rests on guesses of when jobs end
  std::vector<Claim> claims;
};

/// Whether a shape fits the nodes that are usable, all of them idle.
struct FleetFit {
  uint64_t fleet_changes = 0;  ///< StepClock::fleet_changes when that was found out
  bool fits = false;
};

struct BackfillBook {
  std::vector<Reservation> reservations;  ///< of waiting jobs, first in order first
  RunningOrder ends;                      ///< running jobs whose latest end is known, by it
  std::vector<uint32_t> passed;           ///< by shape: the pass it was last tried in
  uint32_t pass = 0;
  std::vector<FleetFit> fits_fleet;     ///< by shape
  std::vector<Attempted> reserved_for;  ///< by shape that is not plain: the last search for a reservation
};

}  // namespace stint::sched
