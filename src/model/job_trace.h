// A trace of batch jobs: who asked for how many GPUs when, and for how long they were used. What public cluster traces
// have in common, and what queue policies are compared on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/units.h"

namespace stint {

/// What a job asks for besides GPUs, where the trace says it. Jobs of one kind share one.
struct TraceShape {
  int32_t milli = 0;                    ///< of ONE GPU, 1 … 999, for jobs with one; 0 = whole GPUs
  int64_t cpu_milli = 0;                ///< of all its tasks together; 0 = not said
  Bytes memory;                         ///< the same
  std::vector<std::string> gpu_models;  ///< any of these; empty = any
  bool is_service = false;              ///< answers requests: it is not stopped for another, it saves nothing
  bool operator==(const TraceShape&) const = default;
};

struct TraceJob {
  Instant submitted;
  Duration duration;     ///< of running, ≥ 0
  int32_t gpus = 0;      ///< ≥ 1
  uint32_t cluster = 0;  ///< index into JobTrace::clusters
  uint32_t user = 0;     ///< index into JobTrace::users; 0 when the trace names no users
  uint32_t name = 0;     ///< index into JobTrace::names; 0 when the trace names no jobs
  uint32_t shape = 0;    ///< index into JobTrace::shapes; 0 when the trace says no more than GPUs
};

struct JobTrace {
  std::vector<std::string> clusters;  ///< in order of first appearance
  std::vector<std::string> users;     ///< the same; empty when the trace has no such column
  std::vector<std::string> names;     ///< of jobs, the same
  std::vector<TraceShape> shapes;     ///< empty when the trace says no more than GPUs
  std::vector<TraceJob> jobs;         ///< in file order
};

}  // namespace stint
