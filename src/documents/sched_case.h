// Reads conformance cases: JSON, format sched-case/1. The format is described beside the case files (README.md there).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/sched_case.h"

namespace stint {

/// @return the cases of one file in their order. An error names the case and what is wrong with it; the caller adds the file.
Result<std::vector<sched::SchedCase>> read_sched_cases(std::string_view json);

}  // namespace stint
