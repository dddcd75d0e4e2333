// The whole parser, for what looks at all commands; and the commands that are about the program itself.
#pragma once

#include <memory>

#include "cli/cli.h"

namespace stint {

/// The parser with all commands; the one that is chosen sets `action`, which must outlive it.
std::shared_ptr<Command> make_app(Action& action);

void add_backup_commands(Command& app, Action& action);
void add_completion_commands(Command& app, Action& action);
void add_help_commands(Command& app, Action& action);
void add_man_command(Command& app, Action& action);
void add_trial_command(Command& app, Action& action);

}  // namespace stint
