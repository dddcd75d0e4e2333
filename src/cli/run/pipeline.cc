// stint pipeline: jobs that wait for each other, out of one JSON file, all or none.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "codec/json_mistake.h"
#include "host/file.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct PipelineOptions {
  ClientOptions daemon;
  std::string file, key;
};

Status submit_pipeline(DaemonClient& client, const PipelineOptions& options) {
  TRY_ASSIGN(const std::string text, read_all(options.file));
  const Json pipeline = Json::parse(text, nullptr, false);
  if (pipeline.is_discarded()) return invalid("{}: not valid JSON: {}", options.file, json_mistake(text));
  std::vector<HttpField> headers;
  if (!options.key.empty()) headers.emplace_back("Idempotency-Key", options.key);
  TRY_ASSIGN(const Json body, client.send("POST", "/v1/pipelines", pipeline, headers));
  if (options.daemon.json) return print_json(body);
  for (const Json& job : body["jobs"]) {
    std::string after;
    for (const Json& id : job["after"])
      after += fmt::format("{}{}", after.empty() ? ", after " : " ", id.get<std::string>());
    say("job {} {}: {}{}\n", job["id"].get<std::string>(), job["name"].get<std::string>(), job["state"].get<std::string>(),
        after);
  }
  return {};
}

}  // namespace

void add_pipeline_command(Command& app, Action& action) {
  auto options = std::make_shared<PipelineOptions>();
  Command* pipeline = app.add_subcommand("pipeline", "Jobs that wait for each other");
  pipeline->require_subcommand(1);
  Command* submit =
      add_client_command(*pipeline, action, options, "submit", "Submit all stages of a JSON file, or none", submit_pipeline);
  submit->add_option("file", options->file, "{\"queue\": …, \"jobs\": [{\"name\": …, \"after\": [names], …}]}")->required();
  submit->add_option("--idempotency-key", options->key, "sent twice with the same key, it is submitted once");
  pipeline->footer("Example: stint pipeline submit nightly.json");
}

}  // namespace stint
