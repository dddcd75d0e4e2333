// stint serve: inference, from a model's measured latencies to what a promise needs, and the server that keeps it.
#include "cli/serve/serve.h"

#include "cli/parser.h"

namespace stint {

void add_serve_command(Command& app, Action& action) {
  Command* serve = app.add_subcommand("serve", "Inference: a server, and what a promise of latency needs and costs");
  serve->require_subcommand(1);
  add_serve_run_command(*serve, action);
  add_serve_load_command(*serve, action);
  add_serve_measure_command(*serve, action);
  add_serve_tune_command(*serve, action);
  add_serve_example_command(*serve, action);
  add_serve_quantize_command(*serve, action);
  add_serve_weigh_command(*serve, action);
}

}  // namespace stint
