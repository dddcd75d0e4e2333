// stint serve measure: how long a model's batches take here, as the CSV that stint serve tune reads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/onnx_options.h"
#include "cli/output.h"
#include "cli/serve.h"
#include "cli/serve_client.h"
#include "host/file.h"
#include "serve/load_generator.h"
#include "serve/measure.h"
#include "serve/onnx_runtime.h"

namespace stint {
namespace {

struct MeasureCommand {
  std::string model;
  std::string server;
  OnnxOptions onnx;
  std::string device;
  double price = 0;
  serve::MeasureOptions options;
  std::string output;
  bool json = false;
};

std::string latency_csv(const MeasureCommand& command, const std::vector<batching::MeasuredBatch>& measured) {
  std::string csv = "device,price_per_hour,batch,ms\n";
  for (const batching::MeasuredBatch& point : measured)
    for (const Duration time : point.times)
      csv += fmt::format("{},{:g},{},{:.6f}\n", command.device, command.price, point.batch, time.to_seconds() * 1e3);
  return csv;
}

std::string latency_json(const MeasureCommand& command, const batching::LatencyProfile& profile) {
  auto batches = nlohmann::ordered_json::array();
  for (const int64_t size : profile.measured_sizes()) {
    const double median_s = profile.quantile(size, 0.5).to_seconds();
    batches.push_back({{"batch", size},
                       {"median_ms", median_s * 1e3},
                       {"p99_ms", profile.quantile(size, 0.99).to_seconds() * 1e3},
                       {"items_per_s", static_cast<double>(size) / median_s}});
  }
  const nlohmann::ordered_json json = {
      {"device", command.device}, {"price_per_hour", command.price}, {"batches", std::move(batches)}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

struct Measured {
  std::vector<batching::MeasuredBatch> batches;
  std::string what;
};

Result<Measured> measure_here(const MeasureCommand& command) {
  TRY_ASSIGN(const serve::OnnxRuntime onnx, open_onnxruntime(command.onnx, std::nullopt));
  TRY_ASSIGN(const std::string bytes, read_all(command.model));
  TRY_ASSIGN(const std::unique_ptr<serve::Runtime> runtime, onnx.open(bytes, command.model));
  TRY_ASSIGN(std::vector<batching::MeasuredBatch> measured, serve::measure_latencies(*runtime, command.options));
  return Measured{std::move(measured),
                  fmt::format("ONNX Runtime {}, {}", onnx.version(),
                              onnx.gpu() ? fmt::format("GPU {}", onnx.gpu()->options().number) : "CPU, one thread")};
}

/// From outside: a request of n items is a batch of n to a server that has nothing else to do.
Result<Measured> measure_server(const MeasureCommand& command) {
  TRY_ASSIGN(const ServeClient client, ServeClient::create(command.server));
  TRY_ASSIGN(const ServedTensors tensors, client.tensors_of(command.model));
  TRY_ASSIGN(std::vector<batching::MeasuredBatch> measured,
             serve::measure_sizes(
                 [&](int64_t items) -> Result<std::function<Status()>> {
                   Prng prng(1);
                   TRY_ASSIGN(std::string request, client.infer_request(tensors, items, true, std::nullopt, prng));
                   serve::LoadTarget target = client.target();
                   target.requests.push_back(std::move(request));
                   return serve::one_by_one(std::move(target));
                 },
                 command.options));
  return Measured{std::move(measured), fmt::format("{} at {}, one request at a time", command.model, command.server)};
}

Status measure(const MeasureCommand& command) {
  if (command.device.find_first_of(",\"\r\n") != std::string::npos)
    return invalid("--device {}: a name without commas, quotes and line ends", excerpt(command.device));
  TRY_ASSIGN(const Measured result, command.server.empty() ? measure_here(command) : measure_server(command));
  const std::vector<batching::MeasuredBatch>& measured = result.batches;
  TRY_ASSIGN(const batching::LatencyProfile profile, batching::LatencyProfile::create(measured));
  fmt::print(stderr, "stint: {}; batch: median ms, p99 ms, items/s\n", result.what);
  for (const int64_t size : profile.measured_sizes())
    fmt::print(stderr, "stint:   {}: {:.3f}, {:.3f}, {:.0f}\n", size, profile.quantile(size, 0.5).to_seconds() * 1e3,
               profile.quantile(size, 0.99).to_seconds() * 1e3,
               static_cast<double>(size) / profile.quantile(size, 0.5).to_seconds());
  return write_output(command.output, command.json ? latency_json(command, profile) : latency_csv(command, measured));
}

}  // namespace

void add_serve_measure_command(CLI::App& serve, Action& action) {
  auto options = std::make_shared<MeasureCommand>();
  options->device = "this machine";
  CLI::App* command =
      serve.add_subcommand("measure", "How long a model's batches take, by size: on this machine, or at a server");
  command
      ->add_option("--model", options->model,
                   "ONNX file: tensors of numbers, the batch free, other dimensions fixed; with --server the name of a model")
      ->required();
  add_onnx_options(*command, options->onnx, "--run-on");
  command->add_option("--server", options->server,
                      "measure through a KServe v2 server (Triton, OpenVINO Model Server, stint) at this IP address and port");
  command->add_option("--max-batch", options->options.most_batch, "sizes 1, 2, 4, … up to this")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  command->add_option("--runs", options->options.runs, "of each size, at most")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--device", options->device, "name to write beside the times")->capture_default_str();
  command->add_option("--price", options->price, "of the machine per hour, to write beside them")->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "print a summary of each size as JSON, in place of all times as CSV");
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

}  // namespace stint
