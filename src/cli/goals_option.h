// --goals: what a plan should reach, from a file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "advise/goals.h"

namespace stint {

void add_goals_option(CLI::App& command, std::string& file);
/// @param file  empty: no goals.
Result<std::vector<Goal>> load_goals(const std::string& file);

}  // namespace stint
