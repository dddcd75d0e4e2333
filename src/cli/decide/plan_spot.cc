// stint plan spot: which jobs suit spot capacity, and how to run them there.
#include <memory>

#include "cli/decide/plan.h"
#include "cli/decide/plan_fleet.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "report/spot_view.h"

namespace stint {
namespace {

struct SpotCommand {
  PlanFleetOptions fleet;
  SpotPlanOptions plan;
  std::string checkpoint = "1m", restart = "5m", wait = "15m", between = "20h", worth = "100h";
  double most_on_spot_pct = 90;
  double most_at_once_pct = 50;
  std::vector<double> bathtub;
  bool json = false;
};

Result<double> hours_of(const char* option, const std::string& text) {
  const auto parsed = parse_duration(text);
  if (!parsed.ok()) return invalid("{} {}: {}", option, text, parsed.error().message);
  return parsed->to_hours();
}

Status print_plan(const SpotCommand& command) {
  SpotView view;
  view.options = command.plan;
  TRY_ASSIGN(view.options.checkpoint_h, hours_of("--checkpoint", command.checkpoint));
  TRY_ASSIGN(view.options.restart_h, hours_of("--restart", command.restart));
  TRY_ASSIGN(view.options.mean_wait_h, hours_of("--wait", command.wait));
  TRY_ASSIGN(view.options.mean_between_h, hours_of("--mean-between", command.between));
  TRY_ASSIGN(view.options.prior_hours, hours_of("--worth", command.worth));
  if (command.bathtub.size() == 4)
    view.options.bathtub = {command.bathtub[0], command.bathtub[1], command.bathtub[2], command.bathtub[3]};
  view.options.most_on_spot = command.most_on_spot_pct / 100;
  view.options.most_at_once = command.most_at_once_pct / 100;
  TRY_ASSIGN(const auto fleet, PlanFleet::open(command.fleet));
  view.source = command.fleet.history;
  view.period = fleet->facts().period;
  TRY_ASSIGN(view.plan, plan_spot(fleet->view(), view.options));
  return write_output("", command.json ? spot_json(view) : spot_text(view, screen_of_stdout()));
}

}  // namespace

void add_plan_spot_command(Command& plan, Action& action) {
  auto options = std::make_shared<SpotCommand>();
  Command* command = plan.add_subcommand("spot", "Which jobs suit spot: checkpoint interval, cost, finish, pools to spread over");
  add_plan_fleet_options(*command, options->fleet, WithMeasured::kYes);
  command->add_option("--allow-region", options->fleet.allowed_regions,
                      "other regions the work may run in, as a glob (default: none)");
  command->add_option("--checkpoint", options->checkpoint, "how long one takes")->capture_default_str();
  command->add_option("--restart", options->restart, "from an instance to working, paid for")->capture_default_str();
  command->add_option("--wait", options->wait, "for capacity after an interruption, on average")->capture_default_str();
  command->add_option("--mean-between", options->between, "interruptions of a machine, as long as nothing was seen")
      ->capture_default_str();
  command->add_option("--worth", options->worth, "how many hours of watching that belief is worth")->capture_default_str();
  command->add_option("--weibull", options->plan.weibull, "shape of the hazard; below 1 young instances are lost more often")
      ->check(in_range(0.2, 10.0));
  command
      ->add_option(
          "--bathtub", options->bathtub,
          "the hazard of providers that stop instances after a limit: share lost early, hours of the early losses, of the "
          "late ones, and the limit, such as 0.45 1 0.8 24; stretched to the belief's mean")
      ->expected(4)
      ->excludes("--weibull");
  command->add_option("--finish-within", options->plan.finish_within, "deadline of a run, × its length")
      ->check(in_range(1.0, 1000.0))
      ->capture_default_str();
  command->add_option("--most-on-spot", options->most_on_spot_pct, "percent of a job's progress")
      ->check(in_range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--most-at-once", options->most_at_once_pct, "percent of concurrent runs in one pool")
      ->check(in_range(1.0, 100.0))
      ->capture_default_str();
  command->add_option("--seed", options->plan.seed, "of the simulation")->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example: stint plan spot --history fleet.db --allow-region 'us-*' --finish-within 1.25");
  command->callback([options, &action] {
    action = [options] {
      const Status done = print_plan(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
