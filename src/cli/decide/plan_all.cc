// stint plan all: the changes that together save the most, in order, proven, and what they cost in waiting.
#include <memory>

#include "cli/decide/advice.h"
#include "cli/decide/plan.h"
#include "cli/output.h"
#include "cli/understand/goals_option.h"
#include "host/file.h"
#include "report/joint_plan_view.h"

namespace stint {
namespace {

struct PlanAllOptions {
  AdviceOptions advice;
  std::string budget;
  std::string calendar;  ///< its first day; empty = none
  std::string day_cost;
  bool json = false;
  std::string html;
};

Result<ExitCode> print_joint_plan(const PlanAllOptions& options) {
  if (!options.day_cost.empty() && options.calendar.empty())
    return invalid("--day-cost is of a calendar: give --calendar, its first day");
  TRY_ASSIGN(JointPlan plan, advised_plan(options.advice, options.budget));
  if (!options.calendar.empty()) {
    TRY_ASSIGN(const Instant begin, parse_instant(options.calendar));
    std::optional<Money> day_cost;
    if (!options.day_cost.empty()) {
      TRY_ASSIGN(day_cost, Money::parse(options.day_cost, plan.report.totals.bill_per_month.currency()));
      if (day_cost->count_nanos() <= 0) return invalid("--day-cost {}: what a day of work costs is above zero", options.day_cost);
    }
    plan.calendar = plan_calendar(plan.report, begin, day_cost);
  }
  if (!options.html.empty()) {
    TRY(write_file_atomically(options.html, joint_plan_html(plan)));
    tell("wrote {}\n", options.html);
  }
  TRY(write_output("", options.json ? joint_plan_json(plan) : joint_plan_text(plan, screen_of_stdout())));
  return exit_code_of(plan.report.goals);
}

}  // namespace

void add_plan_all_command(Command& plan, Action& action) {
  auto options = std::make_shared<PlanAllOptions>();
  Command* command = plan.add_subcommand("all", "Chooses and orders all changes for the greatest joint saving, and proves them");
  command->footer("Example: stint plan all --history fleet.db --month 2026-10 --max-risk medium --budget 20000");
  add_advice_source(*command, options->advice);
  command->add_option("--budget", options->budget,
                      "what a month may cost, in the bill's currency: the quickest plan within it (default: the cheapest plan)");
  command->add_option("--assume-discounts", options->advice.assumed,
                      "also say what the plan would cost at these discounts from on-demand, which no provider quotes: "
                      "reserved=30-60%,spot=60-80%");
  command->add_option("--calendar", options->calendar,
                      "also the steps as a calendar from this day on, with owners and days of work");
  command->add_option("--day-cost", options->day_cost,
                      "what a day of work costs, for what each step costs once and when it is paid back");
  command->add_flag("--json", options->json, "print JSON (docs/formats.md)");
  command->add_option("--html", options->html, "also write the plan as one HTML file, with its front drawn");
  add_advice_options(*command, options->advice);
  command->callback([options, &action] {
    action = [options] {
      const Result<ExitCode> done = print_joint_plan(*options);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
