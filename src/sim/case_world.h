// A cluster case as a State, with the names of the case beside the ids.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sched/sched_case.h"
#include "sched/state.h"

namespace stint {

struct CaseWorld {
  sched::State state;
  std::vector<const sched::CaseJob*> jobs;    ///< by JobId: oldest first
  std::vector<const sched::CaseTask*> tasks;  ///< by TaskId
  std::map<std::string, sched::JobId> job_ids;
  std::map<std::string, sched::TaskId> task_ids;
  std::map<std::string, NodeId> node_ids;
};

/// @return error when the initial state of the case does not fit its own nodes.
Result<CaseWorld> build_case_world(const sched::ClusterCase& c, sched::VictimOrder victims);

}  // namespace stint
