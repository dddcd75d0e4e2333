// stint bench share: how much jobs slow each other on one GPU of the user's own.
#pragma once

#include "cli/app.h"

namespace stint {

class Command;

void add_bench_share_command(Command& bench, Action& action);

}  // namespace stint
