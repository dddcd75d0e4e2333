// Why a job waits, in words and as JSON: what is in the way, what would start it, and what that costs.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sched/explanation.h"
#include "sim/workload.h"

namespace stint {

/// What people call those that an explanation knows by number.
struct WaitingNames {
  std::function<std::string(sched::JobId)> job;
  std::function<std::string(sched::QueueId)> queue;
  std::function<std::string(NodeId)> node;
};
/// @param workload  the one it was explained in; must outlive the result.
WaitingNames names_in(const sim::Workload& workload);

/// @return lines of plain text.
std::string waiting_text(const sched::Explanation& explanation, const WaitingNames& names, sched::JobId job, Instant now);

/// The same as data; drawn in docs/formats.md.
nlohmann::ordered_json waiting_json(const sched::Explanation& explanation, const WaitingNames& names, sched::JobId job,
                                    Instant now);

}  // namespace stint
