// stint top, as cli.cc adds it.
#pragma once

#include "cli/cli.h"

namespace stint {

void add_top_command(Command& app, Action& action);

}  // namespace stint
