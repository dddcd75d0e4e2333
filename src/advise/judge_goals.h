// Whether a plan reaches its goals (goals.h).
#pragma once

#include <span>
#include <vector>

#include "advise/audit_report.h"
#include "advise/goals.h"
#include "advise/node_facts.h"
#include "advise/prove/prove.h"

namespace stint {

struct JudgedPlan {
  const AuditReport& report;  ///< totals, findings, rejected, out_of_reach and proof are there
  const FleetFacts& facts;
  const Catalog& catalog;
  const Prover* prover = nullptr;  ///< none: throughput is not shown
  const ProofOptions* options = nullptr;
};

std::vector<GoalVerdict> judge_goals(std::span<const Goal> goals, const JudgedPlan& plan);

}  // namespace stint
