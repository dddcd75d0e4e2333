// stint plan: what to change, one kind of change at a time.
#include "cli/decide/plan.h"

#include "cli/parser.h"

namespace stint {

void add_plan_command(Command& app, Action& action) {
  Command* plan = app.add_subcommand("plan", "Plans one kind of change: what to do, what it saves, how sure that is");
  plan->require_subcommand(1);
  add_plan_all_command(*plan, action);
  add_plan_commit_command(*plan, action);
  add_plan_share_command(*plan, action);
  add_plan_parallelism_command(*plan, action);
  add_plan_rightsize_command(*plan, action);
  add_plan_capacity_command(*plan, action);
  add_plan_schedule_command(*plan, action);
  add_plan_spot_command(*plan, action);
}

}  // namespace stint
