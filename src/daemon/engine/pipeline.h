// A pipeline: jobs that wait for each other, in one JSON object, taken whole or not at all.
//
//   {"name": "nightly", "queue": "agency", "jobs": [{"name": "clean", …}, {"name": "train", "after": ["clean"], …}]}
//
// Each job is a request (daemon/api/job_request.h) whose `after` names stages. What stands beside "jobs" holds for each of them
// that does not say otherwise: queue, user and tags.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/api/job_request.h"

namespace stint {

struct PipelineStage {
  JobRequest request;         ///< its name is the stage's
  std::vector<size_t> after;  ///< stages it waits for, indexes of earlier ones
};
inline constexpr size_t kMostStages = 1'000;

/// @return the stages, each behind those it waits for, else in the order in which they stand. An error names the stage that is
/// wrong, stands twice, is waited for in vain, or waits for itself.
Result<std::vector<PipelineStage>> parse_pipeline(std::string_view json);

}  // namespace stint
