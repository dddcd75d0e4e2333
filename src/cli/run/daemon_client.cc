#include "cli/run/daemon_client.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/tools/help_page.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUsualServer = "http://127.0.0.1:8470";

/// What was said, or the environment's, or `fallback`.
std::string chosen(const std::string& said, const char* variable, const std::string& fallback = "") {
  if (!said.empty()) return said;
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : fallback;
}

Result<std::string> token_in(const std::string& path) {
  TRY(check_secret_file(path));
  TRY_ASSIGN(const std::string text, read_all(path));
  return std::string(trim(text));
}

Result<std::string> find_token(const ClientOptions& options) {
  if (!options.token_file.empty()) return token_in(options.token_file);
  if (const char* token = std::getenv("STINT_TOKEN"); token != nullptr && *token != '\0') return std::string(token);
  const std::string named = chosen("", "STINT_TOKEN_FILE");
  if (!named.empty()) return token_in(named);
  if (options.tells_of_job)
    if (const std::string own = chosen("", "STINT_JOB_TOKEN"); !own.empty()) return own;
  const char* home = std::getenv("HOME");
  const std::string usual = std::string(home == nullptr ? "" : home) + "/.config/stint/token";
  return is_regular_file(usual) ? token_in(usual) : std::string();
}

bool wants_code(const HttpResponse& response) {
  return response.status == 403 && response.body.find("\"urn:stint:code-wanted\"") != std::string::npos;
}

/// By somebody at a terminal; empty = no person is there.
std::string code_typed() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return "";
  fmt::print(stderr, "one-time code: ");
  std::string line;
  std::getline(std::cin, line);
  return std::string(trim(line));
}

/// The daemon's own words.
Error refusal(const HttpResponse& response) {
  const Json body = Json::parse(response.body, nullptr, false);
  std::string detail;
  if (body.is_object() && body.contains("detail") && body["detail"].is_string()) detail = body["detail"].get<std::string>();
  if (response.status == 401)
    return invalid("the daemon does not know you: give a token with --token-file, or in STINT_TOKEN or ~/.config/stint/token");
  const ErrorCode code = response.status == 404   ? ErrorCode::kNotFound
                         : response.status == 409 ? ErrorCode::kConflict
                         : response.status == 503 ? ErrorCode::kUnavailable
                                                  : ErrorCode::kInvalidInput;
  if (detail.empty()) return make_error(code, "the server answers with status {}: is it a Stint daemon?", response.status);
  return make_error(code, "{}", detail);
}

}  // namespace

void add_connection_options(Command& command, ClientOptions& options) {
  const auto add = [&command](std::string_view name, std::string& value, std::string_view help) {
    command.add_option(name, value, help)->group(kConnectionGroup);
  };
  add("--server", options.server, fmt::format("the daemon's address; else STINT_SERVER, else {}", kUsualServer));
  add("--token-file", options.token_file,
      "file with your token; else STINT_TOKEN, the file STINT_TOKEN_FILE, or ~/.config/stint/token");
  add("--ca-file", options.ca_file, "PEM file: whose signature on the daemon's certificate to trust; else STINT_CA_FILE");
  add("--certificate", options.certificate_file, "PEM file to show who you are; else STINT_CERTIFICATE");
  add("--key", options.key_file, "PEM file: its key; else STINT_KEY");
  add("--code", options.code, "one-time code of your authenticator app, where you have set that up");
}

void add_client_options(Command& command, ClientOptions& options) {
  add_connection_options(command, options);
  command.add_flag("--json", options.json, "print what the daemon answers as JSON");
}

Result<DaemonClient> DaemonClient::create(const ClientOptions& options) {
  HttpOptions http;
  TRY_ASSIGN(http.credentials.bearer_token, find_token(options));
  http.ca_file = chosen(options.ca_file, "STINT_CA_FILE");
  http.certificate_file = chosen(options.certificate_file, "STINT_CERTIFICATE");
  http.key_file = chosen(options.key_file, "STINT_KEY");
  if (options.patience) http.connect_timeout = http.timeout = *options.patience;
  std::string server = chosen(options.server, "STINT_SERVER", kUsualServer);
  while (server.ends_with('/'))
    server.pop_back();
  return DaemonClient(std::move(server), std::move(http), options.code);
}

Result<HttpResponse> DaemonClient::raw(const HttpCall& call) {
  HttpCall whole = call;
  whole.url = server_ + call.url;
  if (!code_.empty()) whole.headers.emplace_back("Stint-Code", code_);
  Result<HttpResponse> response = client_.send(whole);
  if (response.ok() && code_.empty() && wants_code(*response)) {
    code_ = code_typed();
    if (!code_.empty()) return raw(call);
  }
  if (!response.ok())
    return make_error(ErrorCode::kUnavailable,
                      "no daemon answers: {}. Start one with `stint daemon`, or name another with --server or STINT_SERVER",
                      response.error().message);
  if (response->status / 100 != 2) return refusal(*response);
  return response;
}

Result<Json> DaemonClient::send(const std::string& method, const std::string& path, const Json& body,
                                const std::vector<HttpField>& headers) {
  TRY_ASSIGN(const HttpResponse response,
             raw({.method = method, .url = path, .headers = headers, .body = body.is_null() ? "" : body.dump()}));
  Json json = Json::parse(response.body, nullptr, false);
  if (json.is_discarded()) return invalid("the server's answer is no JSON: is it a Stint daemon?");
  return json;
}

Result<Json> DaemonClient::get(const std::string& path) { return send("GET", path, nullptr); }

void add_client_action(Command& command, Action& action, ClientOptions& options, std::function<Status(DaemonClient&)> run,
                       std::function<bool()> ready) {
  add_client_options(command, options);
  command.callback([&options, run = std::move(run), ready = std::move(ready), &action] {
    if (ready && !ready()) return;
    action = [&options, run] {
      auto client = DaemonClient::create(options);
      const Status done = client.ok() ? run(*client) : Status(client.error());
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

Command* add_subcommand_of(Command& parent, const char* name, const char* help) { return parent.add_subcommand(name, help); }

std::string with_query(std::string path, const std::vector<HttpField>& parameters) {
  char before = '?';
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    path += before + name + '=' + escape_url(value);
    before = '&';
  }
  return path;
}

Status print_json(const Json& json) { return write_output("", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); }

}  // namespace stint
