// Why a job waits, in words: what is in the way, what would start it, and what that costs.
#pragma once

#include <string>

#include "sched/explanation.h"
#include "sim/workload.h"

namespace stint {

/// @param workload  the one it was explained in: names come from it. @return lines of plain text.
std::string waiting_text(const sched::Explanation& explanation, const sim::Workload& workload, sched::JobId job, Instant now);

}  // namespace stint
