// The cases without nodes: dividing an amount among queues, and choosing victims by quota. Each returns what differs.
#pragma once

#include <string>
#include <vector>

#include "sched/sched_case.h"

namespace stint {

std::string run_fair_share_case(const sched::FairShareCase& c);

/// What the scheduler that runs live stops for the incoming workload.
struct LiveVictims {
  std::string not_applicable;  ///< the rule of the case that it does not have; empty = it has all
  std::vector<sched::VictimCase::Victim> victims;
};
LiveVictims live_victims(const sched::VictimCase& c);
/// @param victims  sorted. @return what differs from what the case expects.
std::string difference_of(const sched::VictimCase& c, const std::vector<sched::VictimCase::Victim>& victims);

}  // namespace stint
