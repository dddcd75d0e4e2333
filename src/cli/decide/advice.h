// What audit and plan all ask for alike, and the plan that both print: so both name one total.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "advise/plan/joint_plan.h"
#include "cli/decide/commit_options.h"
#include "cli/decide/proof_runs.h"
#include "cli/govern/accounts.h"
#include "cli/parser.h"
#include "cli/period_options.h"

namespace stint {

struct AdviceOptions {
  std::string history;
  PeriodOptions period;
  std::vector<std::string> allowed_regions;
  std::string goals;
  std::string max_risk = "high";
  ProofRunOptions proof;
  CommitOptions commitments;
  std::vector<std::string> batch_curves;  ///< SERVICE=FILE
  std::string measured;                   ///< a file of `stint bench`; empty = data sheets alone
  std::string assumed;                    ///< discounts in words, at which the plan is made again; empty = none
  std::string pairs;                      ///< a file of `stint bench share`; empty = none
};

/// --history and the period.
void add_advice_source(Command& command, AdviceOptions& options);
/// The others.
void add_advice_options(Command& command, AdviceOptions& options);

/// The changes that together save the most, proven unless that is left out.
/// @param budget  what a month may cost, in the bill's currency; empty = as little as can be.
/// @param also  sees what the plan rests on, which does not live longer.
Result<JointPlan> advised_plan(const AdviceOptions& options, const std::string& budget,
                               const std::function<Status(const Records&, const Auditor&)>& also = {});

}  // namespace stint
