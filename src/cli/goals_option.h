// --goals: what a plan should reach, from a file.
#pragma once

#include <string>
#include <vector>

#include "advise/goals.h"

namespace stint {

class Command;

void add_goals_option(Command& command, std::string& file);
/// @param file  empty: no goals.
Result<std::vector<Goal>> load_goals(const std::string& file);

}  // namespace stint
