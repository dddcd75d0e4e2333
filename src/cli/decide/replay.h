// `stint replay` and its protocol commands: each adds itself to `stint replay` here.
#pragma once

#include "cli/cli.h"

namespace stint {

void add_replay_cases_command(Command& replay, Action& action);
void add_replay_packing_command(Command& replay, Action& action);
void add_replay_queue_command(Command& replay, Action& action);
void add_replay_spot_command(Command& replay, Action& action);
void add_replay_regions_command(Command& replay, Action& action);
void add_make_jobs_command(Command& replay, Action& action);
/// The replay of a History itself: the options of `stint replay` when no protocol command is named.
void add_replay_history_options(Command& replay, Action& action);

}  // namespace stint
