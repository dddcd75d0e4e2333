// stint serve measure: how long a model's batches take here, as the CSV that stint serve tune reads.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/parser.h"
#include "cli/serve/serve.h"
#include "cli/serve/serve_measuring.h"

namespace stint {
namespace {

struct MeasureCommand {
  MeasureSource source;
  std::string output;
  bool json = false;
};

std::string latency_csv(const MeasuredDevice& measured) {
  std::string csv = "device,price_per_hour,batch,ms\n";
  const std::string price = measured.profile.price.per_hour().to_decimal();
  for (const batching::MeasuredBatch& point : measured.batches)
    for (const Duration time : point.times)
      csv += fmt::format("{},{},{},{:.6f}\n", measured.profile.device, price, point.batch, time.to_seconds() * 1e3);
  return csv;
}

std::string latency_json(const batching::DeviceProfile& profile) {
  auto batches = nlohmann::ordered_json::array();
  for (const int64_t size : profile.latency.measured_sizes()) {
    const double median_s = profile.latency.quantile(size, 0.5).to_seconds();
    batches.push_back({{"batch", size},
                       {"median_ms", median_s * 1e3},
                       {"p99_ms", profile.latency.quantile(size, 0.99).to_seconds() * 1e3},
                       {"items_per_s", static_cast<double>(size) / median_s}});
  }
  const nlohmann::ordered_json json = {
      {"device", profile.device}, {"price_per_hour", profile.price.per_hour().to_double()}, {"batches", std::move(batches)}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Status measure(const MeasureCommand& command) {
  TRY_ASSIGN(const MeasuredDevice measured, measure_device(command.source));
  return write_output(command.output, command.json ? latency_json(measured.profile) : latency_csv(measured));
}

}  // namespace

void add_serve_measure_command(Command& serve, Action& action) {
  auto options = std::make_shared<MeasureCommand>();
  Command* command = serve.add_subcommand("measure", "How long a model's batches take, by size: on this machine, or at a server");
  add_measure_source(*command, options->source)->required();
  command->add_option("--max-batch", options->source.options.most_batch, "sizes 1, 2, 4, … up to this")
      ->check(in_range(1, 65'536))
      ->capture_default_str();
  command->add_option("--runs", options->source.options.runs, "of each size, at most")
      ->check(in_range(1, 100'000))
      ->capture_default_str();
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
