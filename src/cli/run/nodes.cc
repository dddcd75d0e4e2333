// stint nodes: the daemon's machines, and taking them out and back.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/counted.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct NodeOptions {
  ClientOptions daemon;
  std::string name;
};

/// "taken back, gone at 12:03": of one that does not take work by itself.
std::string why_of(const Json& node) {
  std::string why = node.value("detail", "");
  if (!node["until"].is_null()) why += fmt::format("{}gone at {}", why.empty() ? "" : ", ", time_of(node["until"]));
  return why;
}

Status list_nodes(DaemonClient& client, const NodeOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/nodes"));
  TRY_ASSIGN(const Json overview, client.get("/v1"));
  if (options.daemon.json) return print_json(body);
  Table table({{"node"},
               {"state"},
               {"GPU"},
               {"GPUs", Align::kRight},
               {"held", Align::kRight},
               {"jobs", Align::kRight, 0, 1},
               {"market", Align::kLeft, 0, 2},
               {"region", Align::kLeft, 0, 3},
               {"per hour", Align::kRight},
               {"why", Align::kLeft, 0, 4}});
  for (const Json& node : body["nodes"]) {
    int64_t held = 0;
    for (const Json& milli : node["gpu_milli_held"])
      held += milli.get<int64_t>();
    const auto text = [&node](const char* name) { return node[name].get<std::string>(); };
    table.add_row({text("name"), text("state"), text("gpu_model"), node["gpus"].dump(),
                   node["gpu_milli_held"].is_null() ? "" : fmt::format("{:g}", static_cast<double>(held) / 1e3),
                   std::to_string(node["jobs"].size()), text("market"), text("region"), money_of(node["per_hour"]),
                   why_of(node)});
    table.tone_cell(1, text("state") == "up" ? Tone::kGood : Tone::kWarn);
  }
  for (const Json& note : overview["notes"])
    tell("note: {}\n", note.get<std::string>());
  return write_output("", table.render(screen_of_stdout()));
}

/// "; 2 jobs still run there: agency-1, agency-7": of a machine that is drained.
std::string still_runs(const Json& node) {
  const auto jobs = node["jobs"].get<std::vector<std::string>>();
  if (node["state"] != "draining" || jobs.empty()) return "";
  return fmt::format("; {} there: {}", counted(jobs.size(), "job still runs", "jobs still run"), fmt::join(jobs, ", "));
}

Status run_node(DaemonClient& client, const NodeOptions& options, const std::string& what) {
  TRY_ASSIGN(const Json node, client.send("POST", fmt::format("/v1/nodes/{}/{}", escape_url(options.name), what), nullptr));
  if (options.daemon.json) return print_json(node);
  const auto state = node["state"].get<std::string>();
  const bool comes = what == "up" && state != "up";
  say("{}: {}{}\n", options.name, state, comes ? ", is being switched on and takes work once it can be used" : still_runs(node));
  return {};
}

}  // namespace

void add_nodes_command(Command& app, Action& action) {
  auto options = std::make_shared<NodeOptions>();
  Command* command = app.add_subcommand("nodes", "The daemon's machines; drain NAME takes one out, up NAME takes it back");
  command->require_subcommand(0, 1);
  command->footer("Example: stint nodes drain gpu-7");
  for (const auto& [name, help] : {std::pair{"drain", "Start nothing new there; what runs goes on"}, {"up", "Take it back"}}) {
    Command* sub = command->add_subcommand(name, help);
    sub->add_option("name", options->name, "the machine")->required()->type_name("NODE");
    sub->fallthrough();
  }
  add_client_action(*command, action, options->daemon, [options, command](DaemonClient& client) {
    const std::string chosen = command->chosen_subcommand();
    return chosen.empty() ? list_nodes(client, *options) : run_node(client, *options, chosen);
  });
}

}  // namespace stint
