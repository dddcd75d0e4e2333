// stint plan schedule: hours to be off, and work that could run later, shorter or elsewhere.
#include <memory>

#include "base/text.h"
#include "cli/decide/plan.h"
#include "cli/decide/plan_fleet.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "report/schedule_view.h"

namespace stint {
namespace {

struct ScheduleCommand {
  PlanFleetOptions fleet;
  std::string restart = "1h", slack = "12h", off_peak, transfer = "0.02";
  double data_gb = 0;
  bool json = false;
};

/// "22-06=30": from 22:00 to 06:00 UTC on every day 30 % less.
Status parse_off_peak(const std::string& text, SchedulePlanOptions& options) {
  const size_t dash = text.find('-');
  const size_t equals = text.find('=');
  if (dash != std::string::npos && equals != std::string::npos && dash < equals) {
    const auto from = parse_int(std::string_view(text).substr(0, dash));
    const auto to = parse_int(std::string_view(text).substr(dash + 1, equals - dash - 1));
    const auto percent = parse_number(std::string_view(text).substr(equals + 1));
    if (from && to && percent && *from >= 0 && *from < 24 && *to >= 0 && *to <= 24 && *from != *to && *percent > 0 &&
        *percent <= 100) {
      for (int64_t day = 0; day < 7; ++day)
        for (int64_t hour = 0; hour < 24; ++hour)
          if (*from < *to ? hour >= *from && hour < *to : hour >= *from || hour < *to)
            options.off_peak.set(static_cast<size_t>(day * 24 + hour));
      options.off_peak_discount = *percent / 100;
      return {};
    }
  }
  return invalid("--off-peak {}: expected HOUR-HOUR=PERCENT, such as 22-06=30: from 22:00 to 06:00 UTC 30 % less", excerpt(text));
}

Result<ScheduleView> plan_of(const ScheduleCommand& command) {
  ScheduleView view;
  TRY_ASSIGN(const Duration restart, parse_duration(command.restart));
  view.options.restart_h = restart.to_hours();
  TRY_ASSIGN(view.options.slack, parse_duration(command.slack));
  if (!command.off_peak.empty()) TRY(parse_off_peak(command.off_peak, view.options));
  view.options.data_gb = command.data_gb;
  TRY_ASSIGN(const auto fleet, PlanFleet::open(command.fleet));
  view.currency = fleet->facts().currency;
  const auto transfer = Money::parse(command.transfer, view.currency);
  if (!transfer.ok()) return invalid("--transfer-per-gb {}: {}", command.transfer, transfer.error().message);
  view.options.transfer_per_gb = *transfer;
  view.source = command.fleet.history;
  view.period = fleet->facts().period;
  TRY_ASSIGN(view.plan, plan_schedule(fleet->view(), view.options));
  return view;
}

Status print_plan(const ScheduleCommand& command) {
  TRY_ASSIGN(const ScheduleView view, plan_of(command));
  return write_output("", command.json ? schedule_json(view) : schedule_text(view, screen_of_stdout()));
}

}  // namespace

void add_plan_schedule_command(Command& plan, Action& action) {
  auto options = std::make_shared<ScheduleCommand>();
  Command* command =
      plan.add_subcommand("schedule", "Hours in which machines may be off; work that could run later, shorter or elsewhere");
  add_plan_fleet_options(*command, options->fleet, WithMeasured::kNo);
  command->add_option("--allow-region", options->fleet.allowed_regions, "regions the data may be in, as a glob (default: none)");
  command
      ->add_option("--restart", options->restart,
                   "what coming back costs in paid time: starting, warming up, and that habits break")
      ->capture_default_str();
  command->add_option("--slack", options->slack, "how much later work that can wait may end")->capture_default_str();
  command->add_option("--off-peak", options->off_peak, "a tariff: HOUR-HOUR=PERCENT off, UTC, such as 22-06=30");
  command->add_option("--data-gb", options->data_gb, "to be moved once with a group of machines")->check(non_negative_number());
  command->add_option("--transfer-per-gb", options->transfer, "price of moving it, in the bill's currency")
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example: stint plan schedule --history fleet.db --allow-region 'us-*' --data-gb 500 --off-peak 22-06=30");
  command->callback([options, &action] {
    action = [options] {
      const Status done = print_plan(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
