// stint cloud: machines that the daemon's pools, or launches of this machine, make and end.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "cli/run/launch_state.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// "Azure (why), Google Cloud (why)"; empty = all were read.
std::string unread_of(const Json& body) {
  std::string all;
  for (const Json& each : body.value("unread", Json::array()))
    all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", each["name"].get<std::string>(), each["why"].get<std::string>());
  return all;
}

/// What cannot be had, which pools are left alone for now, and who could not be read.
void tell_of_lack(const Json& body) {
  if (const std::string unread = unread_of(body); !unread.empty())
    tell("not read: {}: of machines there it is not known whether they still are\n", unread);
  for (const Json& lack : body["missing"])
    tell("{}: {} more wanted: {}\n", lack["pool"].get<std::string>(), lack["machines"].dump(), lack["why"].get<std::string>());
  for (const Json& pool : body["left_alone"])
    tell("{}: left alone until {}: {}\n", pool["pool"].get<std::string>(), time_of(pool["until"]),
         pool["why"].get<std::string>());
}

Status list_capacity(DaemonClient& client, const ClientOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/capacity"));
  if (options.json) return print_json(body);
  const auto by = body["by"].get<std::string>();
  if (by.empty()) {
    say("No machines are made or switched here: see `power` of the configuration.\n");
    return {};
  }
  Table table({{"machine"},
               {"state"},
               {"pool"},
               {"per hour", Align::kRight},
               {"since", Align::kLeft, 0, 1},
               {"cost so far", Align::kRight},
               {"id", Align::kLeft, 0, 3},
               {"why", Align::kLeft, 0, 2}});
  for (const Json& made : body["machines"]) {
    const auto text = [&made](const char* name) { return made[name].get<std::string>(); };
    std::string why = text("detail");
    if (!made["until"].is_null()) why += fmt::format("{}gone at {}", why.empty() ? "" : ", ", time_of(made["until"]));
    table.add_row({text("name"), text("state"), text("pool"), money_of(made["per_hour"]),
                   made["since"].is_null() ? "" : time_of(made["since"]), made["cost"].is_null() ? "" : money_of(made["cost"]),
                   text("id"), std::move(why)});
    table.tone_cell(1, text("state") == "ready" ? Tone::kGood : Tone::kWarn);
  }
  tell_of_lack(body);
  return write_output("", table.render(screen_of_stdout()));
}

Status sweep_capacity(DaemonClient& client, const ClientOptions& options) {
  TRY_ASSIGN(const Json before, client.get("/v1/capacity"));
  TRY_ASSIGN(const Json body, client.send("POST", "/v1/capacity/sweep", nullptr));
  const std::string unread = unread_of(body);
  const int64_t swept = body["swept"].get<int64_t>() - before["swept"].get<int64_t>();
  if (options.json)
    TRY(print_json(body));
  else
    say("{}: {} known, {} ended that the daemon did not know.\n",
        unread.empty() ? body["by"].get<std::string>() + " listed" : "what could be listed", body["machines"].size(), swept);
  if (!unread.empty())
    return make_error(ErrorCode::kUnavailable,
                      "not read: {}: machines there that the daemon does not know were not ended. Run stint cloud sweep again",
                      unread);
  return {};
}

}  // namespace

void add_cloud_command(Command& app, Action& action) {
  struct CloudArguments {
    ClientOptions client;
    bool launches = false;
    std::string state;
  };
  auto a = std::make_shared<CloudArguments>();
  const auto add_launch_options = [a](Command& command) {
    command.add_flag("--launches", a->launches,
                     "of stint launch, as their controllers on this machine keep them; no daemon is asked");
    command.add_option("--state", a->state, "folder of the launches; else STINT_LAUNCHES or ~/.local/state/stint/launches")
        ->needs("--launches");
  };
  Command* command =
      app.add_subcommand("cloud", "Machines that the daemon's pools or launches make: what there is and costs, and the sweep");
  command->require_subcommand(1, 1);
  Command* list = command->add_subcommand("ls", "What was made, what it costs, and what cannot be had");
  list->footer("Example: stint cloud ls");
  add_launch_options(*list);
  add_client_action(*list, action, a->client, [a](DaemonClient& client) {
    return a->launches ? list_launches(launch_state_folder(a->state), a->client.json) : list_capacity(client, a->client);
  });
  Command* sweep = command->add_subcommand("sweep", "List all there is now, and end what bears the daemon's mark and is unknown");
  sweep->footer("Example: stint cloud sweep");
  add_launch_options(*sweep);
  add_client_action(*sweep, action, a->client, [a](DaemonClient& client) {
    return a->launches ? sweep_launches(launch_state_folder(a->state), a->client.json) : sweep_capacity(client, a->client);
  });
}

}  // namespace stint
