// Exploration: random fleets, work, faults and policies, with the checkers watching. What fails is made small.
//
// A scenario is a function of its seed and plain data, so a failing seed reproduces exactly, and shrinking is deleting parts
// of the data and looking whether the same rule still breaks. In the spirit of FoundationDB's simulation and of delta
// debugging (Zeller and Hildebrandt 2002), with halves instead of their full partition search.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sched/policy.h"
#include "sim/checkers.h"
#include "sim/replay.h"
#include "sim/workload.h"

namespace stint::sim {

struct Scenario {
  uint64_t seed = 0;
  Workload workload;
  sched::Policy policy;
  ReplayOptions options;
  CheckOptions checks;
  int64_t copy_at_step = -1;  ///< there the scheduler is copied, and both must go on alike; −1 = never
};

/// @param length  of the time in which jobs are submitted and things go wrong; what is left then runs to its end.
Scenario make_scenario(uint64_t seed, Duration length);

struct Exploration {
  std::optional<Violation> violation;
  Duration simulated;
  int64_t steps = 0;
  int64_t decisions = 0;
  uint64_t fingerprint = 0;
};
Exploration explore(const Scenario& scenario);

/// Whether the scenario still fails in the way that is looked for.
using StillFails = std::function<bool(const Scenario&)>;
/// Drops jobs, outages, nodes, queues' limits and features, and halves times, while it still fails.
/// @param tries  at most so many runs.
Scenario shrink(Scenario scenario, const StillFails& still_fails, int tries);

/// The scenario as JSON for people: what is left after shrinking is meant to be read.
std::string scenario_json(const Scenario& scenario);

}  // namespace stint::sim
