// stint plan rightsize: the cheapest type and count per group of machines that keeps the work.
#include <memory>

#include "base/text.h"
#include "cli/decide/batch_curve_files.h"
#include "cli/decide/plan.h"
#include "cli/decide/plan_fleet.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "report/rightsize_view.h"

namespace stint {
namespace {

struct RightsizeCommand {
  PlanFleetOptions fleet;
  double headroom_pct = 20;
  std::vector<std::string> demands;
  bool json = false;
};

/// "search=500@200": 500 requests/s, 200 on one of the present GPUs.
Status add_demand(const std::string& text, RightsizeOptions& options) {
  const size_t equals = text.rfind('=');
  const size_t at = text.rfind('@');
  if (equals != std::string::npos && at != std::string::npos && equals < at) {
    const auto rate = parse_number(text.substr(equals + 1, at - equals - 1));
    const auto each = parse_number(text.substr(at + 1));
    if (rate && each && *rate >= 0 && *each > 0) {
      options.demands[text.substr(0, equals)] = {*rate, *each};
      return {};
    }
  }
  return invalid("--demand {}: expected SERVICE=PER_SECOND@PER_GPU, such as search=500@200", excerpt(text));
}

Status print_plan(const RightsizeCommand& command) {
  RightsizeView view;
  view.options.headroom = command.headroom_pct / 100;
  for (const std::string& text : command.demands)
    TRY(add_demand(text, view.options));
  TRY_ASSIGN(const auto fleet, PlanFleet::open(command.fleet));
  view.source = command.fleet.history;
  view.period = fleet->facts().period;
  TRY_ASSIGN(view.plan, plan_rightsize(fleet->view(), view.options));
  return write_output("", command.json ? rightsize_json(view) : rightsize_text(view, screen_of_stdout()));
}

}  // namespace

void add_plan_rightsize_command(Command& plan, Action& action) {
  auto options = std::make_shared<RightsizeCommand>();
  Command* command = plan.add_subcommand("rightsize", "The cheapest type and count per group of machines that keeps the work");
  add_plan_fleet_options(*command, options->fleet, WithMeasured::kYes);
  command
      ->add_option("--goals", options->fleet.goals,
                   "a file of goals, one a line: what it promises of p99 counts (p99<=100% of all services, p99:search<=80ms)")
      ->check(existing_file());
  command->add_option("--headroom", options->headroom_pct, "of services, percent above their busiest 5 %")
      ->check(in_range(0.0, 1000.0))
      ->capture_default_str();
  command
      ->add_option("--slowest", options->fleet.slowest,
                   "times as long as now that p99 of requests may take where nothing is promised (default: as today)")
      ->check(in_range(1.0, 100.0));
  add_batch_curve_option(*command, options->fleet.batch_curves);
  command->add_option("--demand", options->demands,
                      "SERVICE=PER_SECOND@PER_GPU, repeated: a demand that is known, in place of what telemetry shows");
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example: stint plan rightsize --history fleet.db --demand search=500@200 --measured rates.csv");
  command->callback([options, &action] {
    action = [options] {
      const Status done = print_plan(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
