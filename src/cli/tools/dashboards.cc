// stint dashboards export: the fleet as a Grafana dashboard.
#include <memory>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "codec/metrics/grafana_dashboard.h"

namespace stint {

void add_dashboards_command(Command& app, Action& action) {
  Command* dashboards = app.add_subcommand("dashboards", "Dashboards for other tools");
  dashboards->require_subcommand(1);
  Command* out = dashboards->add_subcommand("export", "The fleet as a Grafana dashboard over Prometheus");
  out->footer("Example: stint dashboards export -o stint.json, then Dashboards > Import in Grafana");
  auto path = std::make_shared<std::string>();
  out->add_option("-o,--output", *path, "write to this file");
  out->callback([path, &action] {
    action = [path] {
      const Status done = write_output(*path, grafana_dashboard());
      return done ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
