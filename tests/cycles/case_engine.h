// What runs the cases here: the cycle scheduler for cluster cases, the rules of quotas alone for victim cases. Both know every rule
// of the cases' sources, also those that the live scheduler does not have.
#pragma once

#include <memory>
#include <vector>

#include "sched/sched_case.h"
#include "sim/case_engine.h"

namespace stint {

Result<std::unique_ptr<CaseEngine>> cycle_engine(const sched::ClusterCase& c, const CaseSeats& seats, sched::VictimOrder victims);
/// @return sorted.
std::vector<sched::VictimCase::Victim> quota_victims(const sched::VictimCase& c);

}  // namespace stint
