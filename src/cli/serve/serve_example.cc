// stint serve example: models to try serving with, and data for them.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "cli/output.h"
#include "cli/parser.h"
#include "cli/serve/onnx_options.h"
#include "cli/serve/serve.h"
#include "serve/example_models.h"

namespace stint {
namespace {

struct ExampleCommand {
  std::string kind, output, data, library;
  int64_t rows = 2000;
};

Status write_data(const ExampleCommand& command, const serve::LabelledData& data) {
  TRY(write_output(command.data + "-x.npy", serve::write_npy(data.rows.front().shape, data.rows.front().values)));
  std::vector<float> labels;
  for (const int64_t label : data.labels)
    labels.push_back(static_cast<float>(label));
  return write_output(command.data + "-y.npy", serve::write_npy(std::array{data.count()}, labels));
}

/// Trains on as many rows again as are written: what is judged by them was not learnt from them.
Status write_example(const ExampleCommand& command) {
  const bool is_mlp = command.kind == "mlp";
  std::string model = is_mlp ? serve::example_mlp({512, 1024, 1024, 128}, 1) : serve::example_cnn(1);
  if (!command.data.empty()) {
    TRY_ASSIGN(const serve::OnnxRuntime onnx, serve::load_onnxruntime(command.library));
    const int64_t rows = 2 * command.rows;
    const serve::LabelledData data = is_mlp ? serve::example_points(rows, 512, 128, 1) : serve::example_stripes(rows, 1);
    TRY_ASSIGN(model, serve::train_last_layer(onnx, model, data.part(0, command.rows)));
    TRY(write_data(command, data.part(command.rows, rows)));
  }
  return write_output(command.output, model);
}

}  // namespace

void add_serve_example_command(Command& serve, Action& action) {
  auto options = std::make_shared<ExampleCommand>();
  Command* command = serve.add_subcommand("example", "Writes a model to try serving with, of random weights or trained");
  command->add_option("kind", options->kind, "mlp: 512-1024-1024-128; cnn: three convolutions on 3×64×64 images")
      ->required()
      ->check(one_of({"mlp", "cnn"}));
  command->add_option("-o,--output", options->output, "ONNX file to write")->required();
  command->add_option(
      "--data", options->data,
      "train its last layer on data made for it, and write other such data to NAME-x.npy and NAME-y.npy; needs ONNX Runtime");
  command->add_option("--rows", options->rows, "to train on, and as many to write")
      ->check(in_range(20, 100'000))
      ->capture_default_str();
  add_onnxruntime_option(*command, options->library);
  command->footer("Example: stint serve example mlp -o mlp.onnx --data mlp");
  command->callback([options, &action] {
    action = [options] {
      const Status done = write_example(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
