// stint serve tune: from measured latencies and a promise to batch, wait, replicas and cost.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "cli/serve/serve.h"
#include "cli/serve/serve_client.h"
#include "cli/serve/serve_measuring.h"
#include "documents/latency_csv.h"
#include "documents/serving_config.h"
#include "host/file.h"
#include "report/serving_view.h"

namespace stint {
namespace {

struct TuneCommand {
  std::string latency;
  MeasureSource source;
  double qps = 0;
  std::string p99;
  std::string p95;
  std::string arrivals = "poisson";
  std::string trace;
  double burst_factor = 3;
  double burst_percent = 10;
  double burst_seconds = 1;
  int64_t most_replicas = 64;
  int64_t most_batch = 0;
  int64_t runs = 20;
  uint64_t seed = 1;
  std::string config, output;
  bool json = false;
};

const std::map<std::string, ServingConfigKind> kConfigKinds = {
    {"stint", ServingConfigKind::kStint}, {"triton", ServingConfigKind::kTriton}, {"tf-serving", ServingConfigKind::kTfServing}};

Result<ServingView> tuned(const TuneCommand& command) {
  ServingView view;
  if (!command.latency.empty()) {
    TRY_ASSIGN(const std::string text, read_all(command.latency));
    TRY_ASSIGN(view.profiles, read_latencies(text, command.latency));
  }
  if (!command.source.model.empty()) {
    MeasureSource source = command.source;
    if (command.most_batch > 0) source.options.most_batch = command.most_batch;
    const ProgressLine progress("measuring " + source.model);
    TRY_ASSIGN(MeasuredDevice measured, measure_device(source));
    view.profiles.push_back(std::move(measured.profile));
  }
  batching::TuneOptions& options = view.options;
  options.per_second = command.qps;
  options.promise.permille = command.p99.empty() ? 950 : 990;
  TRY_ASSIGN(options.promise.limit,
             command.p99.empty() ? parse_time_limit("--p95", command.p95) : parse_time_limit("--p99", command.p99));
  if (command.arrivals == "bursty") options.arrivals.kind = batching::ArrivalPlan::Kind::kBursty;
  if (!command.trace.empty()) {
    TRY_ASSIGN(options.arrivals, trace_arrivals(command.trace));
  }
  options.arrivals.burst_factor = command.burst_factor;
  options.arrivals.burst_share = command.burst_percent / 100;
  options.arrivals.burst_length = Duration::from_seconds(command.burst_seconds);
  options.most_replicas = command.most_replicas;
  if (command.most_batch > 0) options.most_batch = command.most_batch;
  options.runs = command.runs;
  options.seed = command.seed;
  const ProgressLine progress("simulating batches, waits and replicas");
  TRY_ASSIGN(view.tuning, batching::tune(view.profiles, options));
  return view;
}

ExitCode print_tuned(const TuneCommand& command) {
  const Result<ServingView> view = tuned(command);
  if (!view.ok()) return fail(view.error().message);
  if (!command.config.empty() && view->tuning.best) {
    const batching::ServingSetup& setup = view->tuning.devices[*view->tuning.best].answer->setup;
    const Status kept =
        write_output(command.output, write_serving_config(kConfigKinds.at(command.config), setup, view->options.promise));
    if (!kept.ok()) return fail(kept.error().message);
  }
  const Status written = write_output("", command.json ? serving_json(*view) : serving_text(*view, screen_of_stdout()));
  if (!written.ok()) return fail(written.error().message);
  return view->tuning.best ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

void add_serve_tune_command(Command& serve, Action& action) {
  auto options = std::make_shared<TuneCommand>();
  Command* command = serve.add_subcommand(
      "tune", "What keeps a promise: measures a model, finds batch, wait and replicas by simulation, and their cost");
  add_measure_source(*command, options->source);
  command->add_option("--latency", options->latency,
                      "CSV of batches measured before, on one device or several: batch,ms[,device,price_per_hour,instances]");
  command->add_option("--qps", options->qps, "requests per second, all replicas together")->required()->check(positive_number());
  Option* p99 = command->add_option("--p99", options->p99, "99 % of requests within this: 50ms, 2s");
  command->add_option("--p95", options->p95, "or 95 % of them")->excludes(p99);
  Option* arrivals = command->add_option("--arrivals", options->arrivals, "poisson: evenly at random; bursty: two rates in turn")
                         ->check(one_of({"poisson", "bursty"}))
                         ->capture_default_str();
  command->add_option("--trace", options->trace, "CSV with a column of arrival times: its gaps, stretched to the load")
      ->excludes(arrivals);
  command->add_option("--burst-factor", options->burst_factor, "rate in a burst ÷ mean rate")->capture_default_str();
  command->add_option("--burst-percent", options->burst_percent, "of the time that is burst")->capture_default_str();
  command->add_option("--burst-seconds", options->burst_seconds, "mean length of a burst")->capture_default_str();
  command->add_option("--max-replicas", options->most_replicas, "no more than these")->capture_default_str();
  command->add_option("--max-batch", options->most_batch, "no larger batch (default: the largest measured; 32 with --model)")
      ->check(in_range(1, 65'536));
  command->add_option("--runs", options->runs, "simulated runs to confirm an answer")
      ->check(in_range(1, 10'000))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the simulation")->capture_default_str();
  Option* output = command->add_option("-o,--output", options->output, "file for --config");
  command
      ->add_option("--config", options->config,
                   "write the answer as a server's own settings: stint (model.json), triton (config.pbtxt), "
                   "tf-serving (batching parameters)")
      ->check(one_of({"stint", "triton", "tf-serving"}))
      ->needs(output);
  output->needs("--config");
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Exit code 3: no device can keep the promise; the reasons are printed.\n"
      "Example: stint serve tune --model resnet.onnx --run-on cuda --gpu L4 --qps 500 --p99 50ms");
  command->callback([options, &action] {
    if (options->p99.empty() && options->p95.empty()) missing_argument("--p99 or --p95");
    if (options->source.model.empty() && options->latency.empty()) missing_argument("--model or --latency");
    action = [options] { return print_tuned(*options); };
  });
}

}  // namespace stint
