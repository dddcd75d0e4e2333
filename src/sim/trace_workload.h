// A trace of batch jobs as a Workload for a fleet: one queue per user (or per cluster, where the trace names no users).
#pragma once

#include <vector>

#include "model/job_trace.h"
#include "sim/workload.h"

namespace stint::sim {

struct TraceWorkload {
  Workload workload;
  int64_t of_no_length = 0;    ///< jobs left out
  int64_t models_unknown = 0;  ///< jobs that ask for GPU models none of the fleet has: they take any
  int64_t services = 0;        ///< jobs that are not stopped for another
};

/// Jobs that fit on one node of the fleet's largest kind ask for it; larger ones for whole such nodes and, with GPUs left over, for
/// single GPUs that may lie anywhere. All but services are preemptible, save every hour (a minute each) and take five minutes to
/// restart. @param fleet  not empty. @return error when no job has a length above 0.
Result<TraceWorkload> workload_of(const JobTrace& trace, std::vector<SimNode> fleet);

}  // namespace stint::sim
