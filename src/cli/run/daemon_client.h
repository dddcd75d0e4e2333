// What every command needs that talks to the daemon: where it is, who asks, and its answers as JSON.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "host/http_client.h"

namespace stint {

struct ClientOptions {
  std::string server;                      ///< "" = STINT_SERVER, else http://127.0.0.1:8470
  bool tells_of_job = false;               ///< a task's own token will do: STINT_JOB_TOKEN, where no other is named
  std::string token_file;                  ///< "" = STINT_TOKEN, else the file STINT_TOKEN_FILE, else ~/.config/stint/token
  std::string ca_file;                     ///< "" = STINT_CA_FILE, else the system's
  std::string certificate_file, key_file;  ///< "" = STINT_CERTIFICATE and STINT_KEY, else none
  std::string code;                        ///< one-time code; "" = asked for when the daemon wants one and somebody is there
  bool json = false;
  std::optional<Duration> patience;  ///< for an answer; none = as long as the client waits for any server
};
/// --server, --token-file, --ca-file, --certificate, --key and --code.
void add_connection_options(Command& command, ClientOptions& options);
/// These and --json.
void add_client_options(Command& command, ClientOptions& options);

class DaemonClient {
 public:
  /// @return error when a file that was named cannot be read.
  static Result<DaemonClient> create(const ClientOptions& options);

  /// @param path  "/v1/jobs". @return the answer's JSON; an error with the daemon's own words when it says no, or with the next step
  ///   when no daemon answers.
  Result<nlohmann::ordered_json> get(const std::string& path);
  Result<nlohmann::ordered_json> send(const std::string& method, const std::string& path, const nlohmann::ordered_json& body,
                                      const std::vector<HttpField>& headers = {});
  /// The answer as it is, when its status is 2xx.
  Result<HttpResponse> raw(const HttpCall& call);

 private:
  DaemonClient(std::string server, HttpOptions options, std::string code)
      : server_(std::move(server)), client_(std::move(options)), code_(std::move(code)) {}
  std::string server_;
  HttpClient client_;
  std::string code_;
};

/// Makes `command` one that talks to the daemon: its flags, and `run` as what it does. Its error is told, and the command fails.
/// @param options  live as long as `run` does.
/// @param ready  looks at the whole line first: may call missing_argument(); false leaves the action to a command below this one.
void add_client_action(Command& command, Action& action, ClientOptions& options, std::function<Status(DaemonClient&)> run,
                       std::function<bool()> ready = nullptr);
/// The same for a new subcommand with options that have a ClientOptions `daemon`.
Command* add_subcommand_of(Command& parent, const char* name, const char* help);
template <typename Options>
Command* add_client_command(Command& parent, Action& action, const std::shared_ptr<Options>& options, const char* name,
                            const char* help, Status (*run)(DaemonClient&, const Options&)) {
  Command* command = add_subcommand_of(parent, name, help);
  add_client_action(*command, action, options->daemon, [options, run](DaemonClient& client) { return run(client, *options); });
  return command;
}

/// `path` with query parameters, those without a value left out.
std::string with_query(std::string path, const std::vector<HttpField>& parameters);

/// Prints JSON on standard output, two blanks deep.
Status print_json(const nlohmann::ordered_json& json);

}  // namespace stint
