// Cluster cases: nodes, queues and jobs at one instant, some rounds, and the states at their end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/case_engine.h"
#include "sim/case_runner.h"

namespace stint {

/// @param engine_of  makes the engine that runs it.
/// @param foreign    what of the case that engine has no notion of; empty = all of it applies. May be empty itself: it knows all.
CaseVerdict run_cluster_case(const sched::ClusterCase& c,
                             const std::function<Result<std::unique_ptr<CaseEngine>>(const CaseSeats&)>& engine_of,
                             const std::function<std::string(const sched::ClusterCase&, const CaseSeats&)>& foreign);

}  // namespace stint
