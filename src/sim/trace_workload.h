// A trace of batch jobs as a Workload for a fleet: one queue per user (or per cluster, where the trace names no users).
#pragma once

#include <vector>

#include "model/job_trace.h"
#include "sim/workload.h"

namespace stint::sim {

/// Jobs that fit on one node of the fleet's largest kind ask for it; larger ones for whole such nodes and, with GPUs left over, for
/// single GPUs that may lie anywhere. All are preemptible, save every hour (a minute each) and take five minutes to restart.
/// @param fleet  not empty. @return error when no job has a length above 0.
Result<Workload> workload_of(const JobTrace& trace, std::vector<SimNode> fleet);

}  // namespace stint::sim
