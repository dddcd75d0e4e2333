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
  bool json = false;
  std::string html;
};

Result<ExitCode> print_joint_plan(const PlanAllOptions& options) {
  TRY_ASSIGN(const JointPlan plan, advised_plan(options.advice, options.budget));
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
