// One GPU is one GPU, whatever its host is called.
//
// Two sources may name a machine differently: the exporter by its address, the inventory by its name. A GPU's UUID is its identity, so hosts
// under which the same UUID was seen in the same hours are one machine with two names. Hours apart are a card that moved: both hosts stand.
#pragma once

#include <string>
#include <vector>

#include "model/history.h"
#include "telemetry/usage.h"

namespace stint {

/// Makes one machine of each that has several names: the one of which most is known keeps its name. Of a series that both have, the one
/// that covers more hours stays. Runs and ids of the bill that speak of the other name are turned to the one kept.
/// @return what was joined, a sentence each.
std::vector<std::string> join_names_of_one_machine(History& history, Usage& usage);

}  // namespace stint
