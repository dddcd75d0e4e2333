// stint starter: starts the jobs of a daemon that has no rights itself.
#pragma once

#include "cli/cli.h"

namespace stint {

void add_starter_command(Command& app, Action& action);

}  // namespace stint
