// The daemon's machines and jobs as a History has them: what an audit of the daemon's own file works on.
#pragma once

#include <vector>

#include "daemon/engine/views.h"
#include "model/fleet.h"
#include "model/workload.h"

namespace stint {

/// A run for each time the job was started that is still known: those of the last kEndsKept ends, and what runs now. The id is the
/// job's, `restart` the attempt; the tenant is the job's client with what its tags say.
std::vector<Run> runs_of(const JobView& job);

Node history_node(const NodeView& node);

}  // namespace stint
