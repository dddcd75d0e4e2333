// stint serve load: open-loop load on an inference server, this one or another that speaks the protocol.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/prng.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/serve/onnx_options.h"
#include "cli/serve/serve.h"
#include "cli/serve/serve_client.h"
#include "codec/serving/infer_wire.h"
#include "serve/load_generator.h"

namespace stint {
namespace {

constexpr Duration kPatience = Duration::seconds(10);

struct LoadCommand {
  std::string server = "127.0.0.1:8480";
  std::string model;
  serve::LoadShape shape;
  double seconds = 10;
  std::vector<std::string> shapes;  ///< INPUT.PLACE=SIZE of free dimensions
  std::string arrivals = "poisson";
  std::string trace;
  std::string timeout, p99;
  int64_t items = 1;
  int connections = 64;
  bool as_json_tensors = false;
  bool json = false;
};

nlohmann::ordered_json histogram_json(const batching::LatencyHistogram& histogram) {
  const auto ms = [](Duration d) { return d.to_seconds() * 1e3; };
  return {{"mean_ms", ms(histogram.mean())},          {"p50_ms", ms(histogram.quantile(0.5))},
          {"p90_ms", ms(histogram.quantile(0.9))},    {"p99_ms", ms(histogram.quantile(0.99))},
          {"p999_ms", ms(histogram.quantile(0.999))}, {"longest_ms", ms(histogram.longest())}};
}

struct Judged {
  serve::LoadOutcome outcome;
  double answered_per_second = 0;
  bool kept = true;  ///< the promise, if one was given: what was refused is late
};

nlohmann::ordered_json outcome_json(const Judged& judged) {
  const serve::LoadOutcome& o = judged.outcome;
  auto refused = nlohmann::ordered_json::object();
  for (const auto& [status, count] : o.refused)
    refused[status == 0 ? "no answer" : std::to_string(status)] = count;
  return {{"sent", o.sent},
          {"answered", o.answered},
          {"refused", std::move(refused)},
          {"answered_per_second", judged.answered_per_second},
          {"latency", histogram_json(o.latency)},
          {"sent_late", histogram_json(o.lag)},
          {"from_sent", histogram_json(o.at_server)},
          {"promise_kept", judged.kept}};
}

std::string outcome_text(const Judged& judged) {
  const serve::LoadOutcome& o = judged.outcome;
  const auto line = [](std::string_view what, const batching::LatencyHistogram& h) {
    const auto ms = [&](double q) { return h.quantile(q).to_seconds() * 1e3; };
    return fmt::format("{}: p50 {:.3f} ms, p90 {:.3f}, p99 {:.3f}, p99.9 {:.3f}, longest {:.3f}\n", what, ms(0.5), ms(0.9),
                       ms(0.99), ms(0.999), h.longest().to_seconds() * 1e3);
  };
  std::string text =
      fmt::format("{}, {} answered, {:.0f} a second\n", counted(o.sent, "request"), o.answered, judged.answered_per_second);
  for (const auto& [status, count] : o.refused)
    text +=
        status == 0 ? fmt::format("{} without an answer\n", count) : fmt::format("{} refused with status {}\n", count, status);
  return text + line("from due to answered", o.latency) + line("of that before it was sent", o.lag) +
         line("from sent to answered", o.at_server);
}

Result<Judged> load(const LoadCommand& command) {
  TRY_ASSIGN(const ServeClient client, ServeClient::create(command.server));
  TRY_ASSIGN(const serve::Sizes sizes, read_sizes("--shape", command.shapes));
  TRY_ASSIGN(const ServedTensors tensors, client.tensors_of(command.model, sizes));
  std::optional<Duration> timeout, promise;
  if (!command.timeout.empty()) {
    TRY_ASSIGN(timeout, parse_time_limit("--timeout", command.timeout));
  }
  if (!command.p99.empty()) {
    TRY_ASSIGN(promise, parse_time_limit("--p99", command.p99));
  }
  serve::LoadTarget target = client.target();
  target.connections = command.connections;
  Prng prng(command.shape.seed);
  for (int variant = 0; variant < 8; ++variant) {
    TRY_ASSIGN(std::string request, client.infer_request(tensors, command.items, !command.as_json_tensors, timeout, prng));
    target.requests.push_back(std::move(request));
  }
  serve::LoadShape shape = command.shape;
  shape.length = Duration::from_seconds(command.seconds);
  if (command.arrivals == "bursty") shape.arrivals.kind = batching::ArrivalPlan::Kind::kBursty;
  if (!command.trace.empty()) {
    TRY_ASSIGN(shape.arrivals, trace_arrivals(command.trace));
  }
  TRY(batching::check_arrivals(shape.arrivals));
  Judged judged;
  TRY_ASSIGN(judged.outcome, command.arrivals == "closed" ? serve::run_closed_load(target, shape.length)
                                                          : serve::run_open_load(target, serve::due_times(shape), kPatience));
  const serve::LoadOutcome& o = judged.outcome;
  judged.answered_per_second = o.took > Duration() ? static_cast<double>(o.answered) / o.took.to_seconds() : 0;
  // Ninety-nine of a hundred requests must have been answered in time, whatever became of the others.
  if (promise)
    judged.kept = static_cast<double>(o.answered) >= 0.99 * static_cast<double>(o.sent) && o.latency.quantile(0.99) <= *promise;
  return judged;
}

ExitCode run_load(const LoadCommand& command) {
  const Result<Judged> judged = load(command);
  if (!judged.ok()) return fail(judged.error().message);
  const Status written =
      command.json ? write_output("", outcome_json(*judged).dump(2) + "\n") : write_text(outcome_text(*judged));
  if (!written.ok()) return fail(written.error().message);
  return judged->kept ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

void add_serve_load_command(Command& serve, Action& action) {
  auto options = std::make_shared<LoadCommand>();
  Command* command = serve.add_subcommand(
      "load", "Load on an inference server: requests are due at fixed instants, and their times count from then");
  command->add_option("--server", options->server, "IP address and port of any KServe v2 server")->capture_default_str();
  command->add_option("--model", options->model, "name of the model")->required();
  command->add_option("--rate", options->shape.per_second, "requests per second")
      ->check(in_range(0.001, 1e7))
      ->capture_default_str();
  command->add_option("--ramp-to", options->shape.per_second_at_end, "the rate goes there in a straight line")
      ->check(in_range(0.001, 1e7));
  command->add_option("--seconds", options->seconds, "of load")->check(in_range(0.01, 86'400.0))->capture_default_str();
  Option* arrivals = command
                         ->add_option("--arrivals", options->arrivals,
                                      "poisson; bursty: two rates in turn; closed: each connection sends when it has its answer")
                         ->check(one_of({"poisson", "bursty", "closed"}))
                         ->capture_default_str();
  command->add_option("--trace", options->trace, "CSV with a column of arrival times: its gaps, stretched to the rate")
      ->excludes(arrivals);
  command->add_option("--items", options->items, "of each request")->check(in_range(1, 65'536))->capture_default_str();
  command
      ->add_option("--shape", options->shapes,
                   "INPUT.PLACE=SIZE of a free dimension, counted from the batch, which is 0: input_ids.1=128 (default: 16)")
      ->allow_extra_args(false);
  command->add_option("--connections", options->connections, "at the same time")
      ->check(in_range(1, 10'000))
      ->capture_default_str();
  command->add_option("--timeout", options->timeout,
                      "sent with each request: refuse it where it cannot be answered in this time");
  command->add_option("--p99", options->p99, "a promise to judge: 99 % of all requests answered within this, else exit code 3");
  command->add_flag("--json-tensors", options->as_json_tensors, "tensors as JSON, not binary");
  command->add_option("--seed", options->shape.seed, "of arrivals and values")->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example: stint serve load --model mlp --rate 500 --seconds 30 --p99 50ms");
  command->callback([options, &action] { action = [options] { return run_load(*options); }; });
}

}  // namespace stint
