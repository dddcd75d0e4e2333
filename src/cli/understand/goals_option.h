// --goals: what a plan should reach, from a file.
#pragma once

#include <string>
#include <vector>

#include "advise/goals.h"
#include "cli/cli.h"

namespace stint {

void add_goals_option(Command& command, std::string& file);
/// @param file  empty: no goals.
Result<std::vector<Goal>> load_goals(const std::string& file);
/// kPartly where a goal fails or could not be shown to hold.
ExitCode exit_code_of(const std::vector<GoalVerdict>& goals);

}  // namespace stint
