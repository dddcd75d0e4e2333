// stint plan all: the changes that together save the most, in order, proven, and what they cost in waiting.
#include <memory>

#include "advise/joint_plan.h"
#include "advise/node_facts.h"
#include "cli/accounts.h"
#include "cli/commit_options.h"
#include "cli/goals_option.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/plan.h"
#include "cli/proof_runs.h"
#include "cli/risk_option.h"
#include "host/clock.h"
#include "host/file.h"
#include "report/joint_plan_view.h"

namespace stint {
namespace {

struct PlanAllOptions {
  std::string history;
  PeriodOptions period;
  std::string budget;
  RiskOption risk;
  bool json = false;
  std::string html;
  std::vector<std::string> allowed_regions;
  std::string goals;
  ProofRunOptions proof;
  CommitOptions commitments;
};

Result<ExitCode> print_joint_plan(const PlanAllOptions& options) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(const Records records, load_records(options.history, period));
  AuditInput input{records.history, records.usage, records.catalog, now(), options.allowed_regions};
  TRY_ASSIGN(input.goals, load_goals(options.goals));
  TRY(use_commit_options(options.commitments, input));
  ProofRuns runs(options.proof);
  if (!options.proof.leave_out) input.proof = runs.options();
  TRY_ASSIGN(const Auditor auditor, Auditor::create(input));
  JointPlanOptions wanted{.max_risk = options.risk.level()};
  if (!options.budget.empty()) {
    TRY_ASSIGN(const Money budget, Money::parse(options.budget, auditor.facts().currency));
    wanted.budget = budget;
  }
  TRY_ASSIGN(const JointPlan plan, joint_plan(auditor, wanted));
  runs.clear();
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
  command->add_option("--history", options->history, "the History file")->required();
  add_period_options(*command, options->period);
  command->add_option("--budget", options->budget,
                      "what a month may cost, in the bill's currency: the quickest plan within it (default: the cheapest plan)");
  add_risk_option(*command, options->risk);
  command->add_flag("--json", options->json, "print JSON (docs/formats.md)");
  command->add_option("--html", options->html, "also write the plan as one HTML file, with its front drawn");
  command->add_option("--allow-region", options->allowed_regions,
                      "regions work may move to, as a glob such as 'eu-*' (default: none)");
  add_goals_option(*command, options->goals);
  add_commit_options(*command, options->commitments);
  command->add_flag("--no-replay", options->proof.leave_out, "do not run the fleet's jobs again: all stays arithmetic");
  add_proof_options(*command, options->proof);
  command->callback([options, &action] {
    action = [options] {
      const Result<ExitCode> done = print_joint_plan(*options);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
