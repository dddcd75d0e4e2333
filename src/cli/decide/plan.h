// `stint plan` and its planners: each adds itself to `stint plan` here.
#pragma once

#include "cli/cli.h"

namespace stint {

void add_plan_all_command(Command& plan, Action& action);
void add_plan_commit_command(Command& plan, Action& action);
void add_plan_share_command(Command& plan, Action& action);
void add_plan_parallelism_command(Command& plan, Action& action);
void add_plan_rightsize_command(Command& plan, Action& action);
void add_plan_capacity_command(Command& plan, Action& action);
void add_plan_schedule_command(Command& plan, Action& action);
void add_plan_spot_command(Command& plan, Action& action);

}  // namespace stint
