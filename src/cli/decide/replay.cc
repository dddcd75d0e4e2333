// stint replay: a history, or the input of a public comparison, run again under other rules.
#include "cli/decide/replay.h"

#include "cli/parser.h"

namespace stint {

void add_replay_command(Command& app, Action& action) {
  Command* replay = app.add_subcommand("replay", "Runs jobs again under other rules, and says what would have changed");
  replay->require_subcommand(0, 1);
  add_replay_cases_command(*replay, action);
  add_replay_queue_command(*replay, action);
  add_replay_packing_command(*replay, action);
  add_replay_spot_command(*replay, action);
  add_replay_regions_command(*replay, action);
  add_make_jobs_command(*replay, action);
  add_replay_history_options(*replay, action);
}

}  // namespace stint
