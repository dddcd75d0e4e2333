// The commands that Slurm itself calls to start and stop machines.
#pragma once

#include "cli/cli.h"

namespace stint {

/// Adds resume and suspend to `stint slurm`.
void add_slurm_power_commands(Command& slurm, Action& action);

}  // namespace stint
