#include "cli/decide/advice.h"

#include "advise/audit.h"
#include "advise/node_facts.h"
#include "cli/decide/catalog_source.h"
#include "cli/understand/goals_option.h"
#include "host/clock.h"
#include "store/run_owners.h"

namespace stint {
namespace {

Level level_named(const std::string& name) {
  return name == name_of(Level::kLow) ? Level::kLow : name == name_of(Level::kMedium) ? Level::kMedium : Level::kHigh;
}

}  // namespace

void add_advice_source(Command& command, AdviceOptions& options) {
  command.add_option("--history", options.history, "the History file")->required();
  add_period_options(command, options.period);
}

void add_advice_options(Command& command, AdviceOptions& options) {
  command.add_option("--max-risk", options.max_risk, "nothing riskier than this (default: high)")
      ->check(one_of({"low", "medium", "high"}));
  command.add_option("--allow-region", options.allowed_regions,
                     "regions work may move to, as a glob such as 'eu-*' (default: none)");
  add_goals_option(command, options.goals);
  add_commit_options(command, options.commitments);
  command.add_option("--pairs", options.pairs, "how much jobs slow each other on one GPU, as `stint bench share` measured it")
      ->check(existing_file());
  command.add_flag("--no-replay", options.proof.leave_out, "do not run the fleet's jobs again: all stays arithmetic");
  add_proof_options(command, options.proof);
}

Result<JointPlan> advised_plan(const AdviceOptions& options, const std::string& budget,
                               const std::function<Status(const Records&, const Auditor&)>& also) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(const Records records, load_records(options.history, period));
  AuditInput input{records.history, records.usage, records.catalog, now(), options.allowed_regions};
  TRY_ASSIGN(input.goals, load_goals(options.goals));
  TRY_ASSIGN(input.owners, read_run_owners(options.history));
  TRY(use_commit_options(options.commitments, input));
  input.services_longer_pct = options.proof.most_longer_pct;
  if (!options.pairs.empty()) {
    TRY_ASSIGN(input.pairs, read_pairs(options.pairs));
  }
  ProofRuns runs(options.proof);
  if (!options.proof.leave_out) input.proof = runs.options();
  TRY_ASSIGN(const Auditor auditor, Auditor::create(input));
  JointPlanOptions wanted{.max_risk = level_named(options.max_risk)};
  if (!budget.empty()) {
    TRY_ASSIGN(wanted.budget, Money::parse(budget, auditor.facts().currency));
  }
  TRY_ASSIGN(JointPlan plan, joint_plan(auditor, wanted));
  runs.clear();
  if (also) TRY(also(records, auditor));
  return plan;
}

}  // namespace stint
