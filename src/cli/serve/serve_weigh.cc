// stint serve weigh: what `stint serve run` starts to measure a model apart. Not for people, so help does not show it.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <csignal>

#include <memory>

#include "cli/cli.h"
#include "cli/parser.h"
#include "cli/serve/onnx_options.h"
#include "cli/serve/serve.h"
#include "host/memory_use.h"
#include "serve/front_cost.h"
#include "serve/model_measurer.h"

namespace stint {
namespace {

struct WeighCommand {
  std::string model, library;
  int64_t max_batch = 1;
  std::vector<std::string> dimensions;
};

Result<serve::Measurement> weigh(const WeighCommand& command) {
  TRY_ASSIGN(serve::OnnxRuntime onnx, serve::load_onnxruntime(command.library));
  TRY(onnx.try_out());  // what the library takes for itself is not the model's
  TRY_ASSIGN(const serve::Sizes largest, read_sizes("--dimension", command.dimensions));
  TRY_ASSIGN(
      serve::Measurement told,
      serve::run_and_measure(serve::onnx_source(command.model, std::make_shared<const serve::OnnxRuntime>(std::move(onnx))),
                             command.max_batch, largest));
  if (const Result<Duration> front = serve::measure_front(told); front.ok()) told.front = *front;
  return told;
}

}  // namespace

void add_serve_weigh_command(Command& serve, Action& action) {
  auto options = std::make_shared<WeighCommand>();
  Command* command = serve.add_subcommand("weigh", "Measures one model for the server that starts it")->group("");
  command->add_option("--model", options->model, "an .onnx file")->required();
  command->add_option("--max-batch", options->max_batch, "items")->check(in_range(int64_t{1}, int64_t{65'536}))->required();
  command->add_option("--dimension", options->dimensions, "NAME=SIZE: the largest of a free one");
  add_onnxruntime_option(*command, options->library);
  command->callback([options, &action] {
    action = [options] {
      give_back_large_blocks();                // as the server does
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // a server that is killed leaves nothing behind
      fmt::print("{}\n", serve::write_measurement(weigh(*options)));
      return ExitCode::kOk;
    };
  });
}

}  // namespace stint
