// `stint replay --explain JOB[@TIME]`: why a job waits at an instant of the replay, and what would start it at what cost.
#pragma once

#include <string>

#include "base/result.h"
#include "sched/explanation.h"
#include "sched/policy.h"
#include "sim/workload.h"

namespace stint {

struct ExplainedJob {
  sched::JobId job;
  Instant at;
  sched::Explanation why;
};

/// @param what  a job's name, and after an @ an instant; without: just after it was submitted.
/// @param workload  passed check_workload(), and says what the scheduler may know.
Result<ExplainedJob> explain_in_replay(const sched::Policy& policy, const sim::Workload& workload, const std::string& what);

}  // namespace stint
