// The cases without nodes: dividing an amount among queues, and choosing victims by quota. Each returns what differs.
#pragma once

#include <string>

#include "sched/sched_case.h"

namespace stint {

std::string run_fair_share_case(const sched::FairShareCase& c);
std::string run_victim_case(const sched::VictimCase& c);

}  // namespace stint
