// stint services: inference services whose replicas the daemon runs.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Status list_services(DaemonClient& client, const ClientOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/services"));
  if (options.json) return print_json(body);
  Table table({{"service"},
               {"replicas", Align::kRight},
               {"min–max", Align::kRight},
               {"of its promise", Align::kRight, 0, 2},
               {"per 1,000 requests", Align::kRight, 0, 2},
               {"because", Align::kLeft, 0, 1},
               {"job", Align::kLeft, 0, 3},
               {"listens on", Align::kLeft, 0, 3},
               {"state"}});
  for (const Json& service : body["services"]) {
    const auto number = [&service](const char* name) { return service[name].get<int64_t>(); };
    const Json& used = service["utilization"];
    const Json& cost = service["per_thousand_requests"];
    std::vector<std::string> row = {service["name"].get<std::string>(),
                                    fmt::format("{} of {}", number("ready"), number("wanted")),
                                    fmt::format("{}–{}", number("min"), number("max")),
                                    used.is_null() ? "" : fmt::format("{:.0f} %", used.get<double>() * 100),
                                    cost.is_null()
                                        ? ""
                                        : fmt::format("{:.3g} {}", parse_number(cost["amount"].get<std::string>()).value_or(0),
                                                      cost["currency"].get<std::string>()),
                                    service["reason"].get<std::string>()};
    if (service["replicas"].empty()) row.resize(9);
    for (const Json& replica : service["replicas"]) {
      const auto state = replica["state"].get<std::string>();
      row.resize(6);
      row.insert(row.end(), {replica["job"].get<std::string>(), replica["listens"].get<std::string>(),
                             replica["current"].get<bool>() ? state : state + ", to be replaced"});
      table.add_row(row);
      table.tone_cell(8, state == "ready" ? Tone::kGood : Tone::kWarn);
      row.assign(6, "");
    }
    if (service["replicas"].empty()) table.add_row(row);
    if (const auto trouble = service["trouble"].get<std::string>(); !trouble.empty())
      tell("{}: {}\n", service["name"].get<std::string>(), trouble);
  }
  return write_output("", table.render(screen_of_stdout()));
}

}  // namespace

void add_services_command(Command& app, Action& action) {
  auto options = std::make_shared<ClientOptions>();
  Command* command = app.add_subcommand("services", "Inference services: their replicas, and why there are so many");
  command->footer("Example: stint services");
  add_client_action(*command, action, *options, [options](DaemonClient& client) { return list_services(client, *options); });
}

}  // namespace stint
