// A certified lower bound beside a plan: no plan with these levers, prices and promises costs less. And what lies between the two.
//
// bound = what no finding changes (storage, transfer, owned and reserved machines) + the covering bound of the work (covering_bound.h).
// The gap is told by what the bound leaves out, for each category of work:
//   what machines of the plan cost while none of their GPUs works;
//   of the rest, what GPUs cost beyond the parts of them that are busy or hold memory, where they may be shared;
//   of the rest, what they cost above the least price.
// Each is a share of what the category's machines cost in the plan, so the parts sum to the gap.
#pragma once

#include "advise/audit_report.h"
#include "advise/books.h"
#include "advise/bound/bound_problem.h"

namespace stint {

/// Of a fleet, whatever plan is made for it.
struct FleetBound {
  BoundProblem problem;
  CoveringBound covering;
  std::vector<int64_t> of_node;  ///< nano-units of the period: a node's part of its works
  Money work_per_month;          ///< what all work costs at least, never more than its machines cost now
};
FleetBound fleet_bound(const BoundInput& input);

/// @param plan  the books after it. @param totals  of the plan.
PlanBound bound_of_plan(const FleetBound& bound, const Books& plan, const AuditTotals& totals);

}  // namespace stint
