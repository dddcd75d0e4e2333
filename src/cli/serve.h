// The subcommands of stint serve.
#pragma once

#include "cli/cli.h"

namespace stint {

void add_serve_run_command(CLI::App& serve, Action& action);
void add_serve_load_command(CLI::App& serve, Action& action);
void add_serve_tune_command(CLI::App& serve, Action& action);
void add_serve_measure_command(CLI::App& serve, Action& action);
void add_serve_example_command(CLI::App& serve, Action& action);
void add_serve_quantize_command(CLI::App& serve, Action& action);

}  // namespace stint
