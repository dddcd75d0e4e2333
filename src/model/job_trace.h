// A trace of batch jobs: who asked for how many GPUs when, and for how long they were used. What public cluster traces
// have in common, and what queue policies are compared on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace stint {

struct TraceJob {
  Instant submitted;
  Duration duration;     ///< of running, ≥ 0
  int32_t gpus = 0;      ///< ≥ 1
  uint32_t cluster = 0;  ///< index into JobTrace::clusters
  uint32_t user = 0;     ///< index into JobTrace::users; 0 when the trace names nobody
};

struct JobTrace {
  std::vector<std::string> clusters;  ///< in order of first appearance
  std::vector<std::string> users;     ///< the same; empty when the trace has no such column
  std::vector<TraceJob> jobs;         ///< in file order
};

}  // namespace stint
