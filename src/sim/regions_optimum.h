// What a task with a deadline could have cost at best on many zones, had their capacity been known ahead.
//
// Dynamic programme over (tick, whole ticks of work done, what holds the task). A launch takes the ticks of its changeover without
// progress, rounded up, so the plan is one of whole ticks; replayed tick by tick it works a little earlier, and therefore it is not
// a strict lower bound. The published optimum is the same.
// Source: SkyNomad (NSDI 2027), its artifact's optimal policy.
#pragma once

#include "sim/regions_replay.h"

namespace stint::sim {

/// The plan, replayed.
/// @param task  passes check(). @param available  as for replay_regions().
/// @return error when there would be too many states.
Result<RegionsRun> replay_regions_optimum(const sched::RegionsTask& task, const ZoneCapacity& available);

}  // namespace stint::sim
