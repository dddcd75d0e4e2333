// A job trace from a file, with what was skipped or rejected said on standard error.
#pragma once

#include <string>

#include "base/result.h"
#include "model/job_trace.h"

namespace stint {

/// CSV with the columns timestamp, duration, num_gpus and cluster (docs/formats.md), may be gzipped.
Result<JobTrace> read_job_trace(const std::string& path);

}  // namespace stint
