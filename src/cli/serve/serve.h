// The subcommands of stint serve.
#pragma once

#include "cli/cli.h"

namespace stint {

void add_serve_weigh_command(Command& serve, Action& action);
void add_serve_run_command(Command& serve, Action& action);
void add_serve_load_command(Command& serve, Action& action);
void add_serve_tune_command(Command& serve, Action& action);
void add_serve_measure_command(Command& serve, Action& action);
void add_serve_example_command(Command& serve, Action& action);
void add_serve_quantize_command(Command& serve, Action& action);

}  // namespace stint
