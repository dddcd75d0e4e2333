#include "cli/decide/advice.h"

#include <algorithm>

#include "advise/audit.h"
#include "advise/node_facts.h"
#include "cli/decide/batch_curve_files.h"
#include "cli/decide/catalog_source.h"
#include "cli/understand/goals_option.h"
#include "host/clock.h"
#include "store/run_owners.h"

namespace stint {
namespace {

Level level_named(const std::string& name) {
  return name == name_of(Level::kLow) ? Level::kLow : name == name_of(Level::kMedium) ? Level::kMedium : Level::kHigh;
}

/// The same question at other prices. What is assumed counts nowhere, so commitments on few days of use may stand in it.
AuditInput at_prices(const AuditInput& input, const Catalog& catalog) {
  return {input.history,
          input.usage,
          catalog,
          input.now,
          input.allowed_regions,
          input.proof,
          input.choice,
          input.goals,
          input.longest_term,
          input.savings_plans,
          input.owned,
          input.services_longer_pct,
          input.pairs,
          input.owners,
          input.batch_curves,
          std::min(input.commit_on_days, kFewestDaysToCommit)};
}

/// The same fleet at each end of the range.
Result<std::vector<AssumedPlan>> assumed_plans(const std::string& text, const AuditInput& input, const JointPlanOptions& wanted) {
  TRY_ASSIGN(const std::vector<AssumedDiscount> discounts, parse_assumed_discounts(text));
  std::vector<AssumedPlan> plans;
  for (const AssumedDiscount& discount : discounts) {
    const Catalog catalog = at_assumed_discount(input.catalog, discount);
    TRY_ASSIGN(const Auditor auditor, Auditor::create(at_prices(input, catalog)));
    TRY_ASSIGN(const JointPlan plan, joint_plan(auditor, wanted));
    const SavingBasis& basis = plan.report.totals.saving_by;
    Money unproven = basis.arithmetic;
    for (const Finding& f : plan.report.findings)
      if (part_of_saving(f) == &SavingBasis::doubtful_price && !(f.proof && f.proof->verdict == ProofVerdict::kSurvives))
        unproven += f.saving_per_month;
    plans.push_back({discount, plan.report.totals.plan_per_month, unproven});
  }
  return plans;
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
  command.add_option("--measured", options.measured, "rates measured by stint bench in place of data sheets")
      ->check(existing_file());
  add_batch_curve_option(command, options.batch_curves);
  command.add_flag("--no-replay", options.proof.leave_out, "do not run the fleet's jobs again: all stays arithmetic");
  add_proof_options(command, options.proof);
}

Result<JointPlan> advised_plan(const AdviceOptions& options, const std::string& budget,
                               const std::function<Status(const Records&, const Auditor&)>& also) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(Records records, load_records(options.history, period));
  if (!options.measured.empty()) {
    TRY_ASSIGN(const auto rows, read_measurements(options.measured));
    TRY_ASSIGN(records.catalog, records.catalog.with_measurements(rows));
  }
  AuditInput input{records.history, records.usage, records.catalog, now(), options.allowed_regions};
  TRY_ASSIGN(input.goals, load_goals(options.goals));
  TRY_ASSIGN(input.owners, read_run_owners(options.history));
  TRY(use_commit_options(options.commitments, input));
  TRY_ASSIGN(input.batch_curves, load_batch_curves(options.batch_curves));
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
  if (!options.assumed.empty()) {
    TRY_ASSIGN(plan.assumed, assumed_plans(options.assumed, input, wanted));
  }
  runs.clear();
  if (also) TRY(also(records, auditor));
  return plan;
}

}  // namespace stint
