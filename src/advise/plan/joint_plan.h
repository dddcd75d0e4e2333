// The joint plan: which changes together save the most, in which order, and what they cost in waiting.
//
// Changes compete: what goes to spot cannot be committed, a machine that is packed away needs no smaller type. The audit takes them
// in one order on one set of books; here findings are left out where the rest then saves more together (what is left out makes room for
// what comes after it). Findings that have nothing to do with each other are parts (plan_parts.h); of a part the best of all sets of up to eight
// findings is taken, an exchange search goes beyond, and then a bound says how much more there could be. Every plan tried is booked as a whole,
// so nothing counts twice. Then the front of cost against time: every set of replayed changes is replayed where `most_points` allows it;
// else, from the cheapest plan, they are left out in the order of the seconds they give back per unit of money. A budget picks the
// quickest plan within it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/audit.h"
#include "advise/plan/assumed_prices.h"
#include "advise/plan/plan_calendar.h"

namespace stint {

struct JointPlanOptions {
  Level max_risk = Level::kHigh;
  std::optional<Money> budget;  ///< the month after the plan may cost so much; none = the cheapest plan is wanted
  int front_seeds = 2;          ///< of spot interruptions, for the points of the front
  size_t most_points = 40;      ///< plans replayed for the front
};

/// One plan of the front.
struct FrontPoint {
  Money plan_per_month;
  double completion_mean_s = 0;
  double waiting_mean_s = 0;
  std::vector<std::string> without;  ///< ids of findings of the cheapest plan that it leaves out
  bool chosen = false;
};

/// How good the choice is, by the books and before replays.
struct JointSearch {
  int64_t plans = 0;      ///< tried
  int64_t parts = 0;      ///< of findings that have nothing to do with each other
  bool every_set = true;  ///< no set of these findings saves more; false: steps, and `at_most` is a bound
  Money at_most;          ///< no set saves more a month
};

/// The joint plan at prices that are assumed: what it would cost, shown as such.
struct AssumedPlan {
  AssumedDiscount discount;
  Money plan_per_month;
  Money by_arithmetic;  ///< of its saving, what was not replayed
};

struct JointPlan {
  JointSearch search;
  AuditReport report;              ///< of the plan chosen, proven; Finding::step has the order
  std::vector<std::string> gains;  ///< what was left out so that others save more, in words
  std::vector<FrontPoint> front;   ///< ascending by cost, descending by time; empty when no job can be replayed
  double as_is_completion_s = 0;   ///< with no change at all
  double as_is_waiting_s = 0;
  std::vector<CalendarStep> calendar = {};  ///< as asked for
  std::vector<AssumedPlan> assumed = {};    ///< as asked for, beside the plan
  std::string budget_missed;                ///< why no plan keeps within the budget; empty = one does, or none was named
};

/// @param auditor  whose input says how to prove.
Result<JointPlan> joint_plan(const Auditor& auditor, const JointPlanOptions& options);

}  // namespace stint
