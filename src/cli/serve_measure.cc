// stint serve measure: how long a model's batches take here, as the CSV that stint serve tune reads. And models to try it with.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "cli/output.h"
#include "cli/serve.h"
#include "host/file.h"
#include "serve/example_models.h"
#include "serve/measure.h"
#include "serve/onnx_runtime.h"

namespace stint {
namespace {

struct MeasureCommand {
  std::string model;
  std::string library;
  std::string device;
  double price = 0;
  serve::MeasureOptions options;
  std::string output;
};

Result<std::string> read_model(const std::string& path) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  std::string bytes;
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) return bytes;
    bytes += piece;
  }
}

std::string latency_csv(const MeasureCommand& command, const std::vector<batching::MeasuredBatch>& measured) {
  std::string csv = "device,price_per_hour,batch,ms\n";
  for (const batching::MeasuredBatch& point : measured)
    for (const Duration time : point.times)
      csv += fmt::format("{},{:g},{},{:.6f}\n", command.device, command.price, point.batch, time.to_seconds() * 1e3);
  return csv;
}

Status measure(const MeasureCommand& command) {
  if (command.device.find_first_of(",\"\r\n") != std::string::npos)
    return invalid("--device {}: a name without commas, quotes and line ends", excerpt(command.device));
  const char* named = std::getenv("STINT_ONNXRUNTIME");
  const std::string fallback = named != nullptr ? named : serve::OnnxRuntime::kLibrary;
  TRY_ASSIGN(const serve::OnnxRuntime onnx, serve::OnnxRuntime::load(command.library.empty() ? fallback : command.library));
  TRY_ASSIGN(const std::string bytes, read_model(command.model));
  TRY_ASSIGN(const std::unique_ptr<serve::Runtime> runtime, onnx.open(bytes, command.model));
  TRY_ASSIGN(const std::vector<batching::MeasuredBatch> measured, serve::measure_latencies(*runtime, command.options));
  TRY_ASSIGN(const batching::LatencyProfile profile, batching::LatencyProfile::create(measured));
  fmt::print(stderr, "stint: ONNX Runtime {}, CPU, one thread; batch: median ms, p99 ms, items/s\n", onnx.version());
  for (const int64_t size : profile.measured_sizes())
    fmt::print(stderr, "stint:   {}: {:.3f}, {:.3f}, {:.0f}\n", size, profile.quantile(size, 0.5).to_seconds() * 1e3,
               profile.quantile(size, 0.99).to_seconds() * 1e3,
               static_cast<double>(size) / profile.quantile(size, 0.5).to_seconds());
  return write_output(command.output, latency_csv(command, measured));
}

}  // namespace

void add_serve_measure_command(CLI::App& serve, Action& action) {
  auto options = std::make_shared<MeasureCommand>();
  options->device = "this machine";
  CLI::App* command = serve.add_subcommand("measure", "How long a model's batches take on this machine's CPU, by size");
  command->add_option("--model", options->model, "ONNX file: float32 tensors, the batch free, other dimensions fixed")
      ->required();
  command->add_option(
      "--onnxruntime", options->library,
      "ONNX Runtime's library (default: $STINT_ONNXRUNTIME, else the linker's; scripts/setup-onnxruntime fetches it)");
  command->add_option("--max-batch", options->options.most_batch, "sizes 1, 2, 4, … up to this")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  command->add_option("--runs", options->options.runs, "of each size, at most")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--device", options->device, "name to write beside the times")->capture_default_str();
  command->add_option("--price", options->price, "of the machine per hour, to write beside them")->check(CLI::NonNegativeNumber);
  command->add_option("-o,--output", options->output, "write to this file");
  command->footer(
      "Example: stint serve measure --model mlp.onnx -o mlp.csv && stint serve tune --latency mlp.csv --qps 500 --p99 50ms");
  command->callback([options, &action] {
    action = [options] {
      const Status done = measure(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

void add_serve_example_command(CLI::App& serve, Action& action) {
  auto kind = std::make_shared<std::string>();
  auto output = std::make_shared<std::string>();
  CLI::App* command = serve.add_subcommand("example", "Writes a model to try serving with: random weights, nothing learnt");
  command->add_option("kind", *kind, "mlp: 512-1024-1024-128; cnn: three convolutions on 3×64×64 images")
      ->required()
      ->check(CLI::IsMember({"mlp", "cnn"}));
  command->add_option("-o,--output", *output, "ONNX file to write")->required();
  command->footer("Example: stint serve example mlp -o mlp.onnx");
  command->callback([kind, output, &action] {
    action = [kind, output] {
      const Status done =
          write_output(*output, *kind == "mlp" ? serve::example_mlp({512, 1024, 1024, 128}, 1) : serve::example_cnn(1));
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
