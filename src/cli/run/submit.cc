// stint submit: a command or a script as a job for the daemon.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/counted.h"
#include "cli/cli.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "cli/run/job_options.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct SubmitOptions {
  ClientOptions daemon;
  JobValues values;
  std::vector<std::string> words;  ///< the script, or the command
  bool is_command = false;         ///< `--` stands before them
  std::string key;
};

Result<Json> request_of(const SubmitOptions& options) {
  if (options.words.empty()) return invalid("what is to run? Give a script, or a command behind --");
  JobValues of_script;
  std::string script;
  if (!options.is_command) {
    TRY_ASSIGN(script, read_all(options.words[0]));
    TRY_ASSIGN(of_script, job_values_of_script(script, options.words[0]));
  }
  TRY_ASSIGN(Json request, job_request_json(of_script, options.values));
  if (options.is_command)
    request["command"] = options.words;
  else
    request["script"] = script;
  if (!options.is_command && options.words.size() > 1)
    request["arguments"] = std::vector<std::string>(options.words.begin() + 1, options.words.end());
  if (!options.is_command && !request.contains("name"))
    request["name"] = std::filesystem::path(options.words[0]).filename().string();
  std::error_code ignored;
  // What is here is not in an image.
  if (!request.contains("folder") && !request.contains("image"))
    request["folder"] = std::filesystem::current_path(ignored).string();
  return request;
}

/// Sent again when no answer came: under its key it is carried out once.
Result<Json> send(DaemonClient& client, const SubmitOptions& options, const Json& request) {
  const std::string key = options.key.empty() ? random_hex(16) : options.key;
  constexpr int kTries = 3;
  for (int attempt = 1;; ++attempt) {
    Result<Json> job = client.send("POST", "/v1/jobs", request, {{"Idempotency-Key", key}});
    if (job.ok() || job.error().code != ErrorCode::kUnavailable || attempt == kTries) return job;
    std::this_thread::sleep_for(std::chrono::seconds(attempt));
  }
}

Status run_submit(DaemonClient& client, const SubmitOptions& options) {
  TRY_ASSIGN(const Json request, request_of(options));
  TRY_ASSIGN(const Json job, send(client, options, request));
  if (options.daemon.json) return print_json(job);
  const auto id = job["id"].get<std::string>();
  fmt::print("{}\n", id);
  if (job.contains("array"))
    fmt::print(stderr, "array {0} in {1}: {2}, {0}_0 and on; `stint show {0}` sums them up\n", id,
               job["queue"].get<std::string>(), counted(job["array"]["size"].get<int64_t>(), "job"));
  else if (job["state"] == "needs-approval")
    fmt::print(stderr, "job {} in {} needs approval: `stint why {}` says why, `stint approval approve {}` gives it\n", id,
               job["queue"].get<std::string>(), id, id);
  else
    fmt::print(stderr, "job {} in {}: `stint why {}` explains, `stint logs {}` shows what it prints\n", id,
               job["queue"].get<std::string>(), id, id);
  return {};
}

}  // namespace

void add_submit_command(Command& app, Action& action) {
  auto options = std::make_shared<SubmitOptions>();
  Command* command = app.add_subcommand(
      "submit", "Gives the daemon a job: a command behind --, or a script with #STINT lines and its arguments");
  for (const JobFlag& flag : job_flags()) {
    std::vector<std::string>& values = options->values[std::string(flag.flag)];
    if (flag.kind == JobFlagKind::kTrue || flag.kind == JobFlagKind::kFalse)
      command->add_flag_callback(std::string(flag.flag), [&values] { values = {""}; }, std::string(flag.help));
    else
      command->add_option(std::string(flag.flag), values, std::string(flag.help))->allow_extra_args(false);
  }
  command->add_option("--idempotency-key", options->key, "sent twice with the same key it runs once; else one is made");
  add_client_action(*command, action, options->daemon, [options, command](DaemonClient& client) {
    const auto passed = command->remaining();
    options->is_command = !command->word_ended_options() && std::find(passed.begin(), passed.end(), "--") != passed.end();
    std::erase_if(options->values, [](const auto& given) { return given.second.empty(); });
    return run_submit(client, *options);
  });
  command->add_option("what", options->words, "a script with its arguments, or -- and a command with its");
  command->first_word_ends_options();
  command->footer("Example: stint submit --queue agency/vision --gpus 2 --time-limit 4h -- python train.py --epochs 10");
}

}  // namespace stint
