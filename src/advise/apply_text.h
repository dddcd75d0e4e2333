// How to carry a Change out: commands and configuration, ready to paste once the names in capitals are filled in.
#pragma once

#include <string>
#include <vector>

#include "advise/node_facts.h"

namespace stint {

/// In the order to run them; lines that start with # explain.
std::vector<std::string> apply_text(const Change& change, const FleetFacts& facts);

}  // namespace stint
