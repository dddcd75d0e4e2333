// `stint plan` and its planners: each adds itself to `stint plan` here.
#pragma once

#include "cli/cli.h"

namespace stint {

void add_plan_all_command(CLI::App& plan, Action& action);
void add_plan_commit_command(CLI::App& plan, Action& action);
void add_plan_share_command(CLI::App& plan, Action& action);
void add_plan_parallelism_command(CLI::App& plan, Action& action);
void add_plan_rightsize_command(CLI::App& plan, Action& action);
void add_plan_capacity_command(CLI::App& plan, Action& action);
void add_plan_schedule_command(CLI::App& plan, Action& action);
void add_plan_spot_command(CLI::App& plan, Action& action);

}  // namespace stint
