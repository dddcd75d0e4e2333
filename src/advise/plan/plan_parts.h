// Parts of a plan that have nothing to do with each other: each is searched by itself, so that many findings are as exact as few.
//
// Findings belong together when they touch the same machines, when their machines are or become one type in one region (they then share
// pools: who may pack, move to spot or be committed for together), or when leaving one out changes the other. All distinct plans are then
// products of plans of the parts, and what they save adds up.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "advise/finding.h"

namespace stint {

struct FleetFacts;

/// Machines of one part.
using PlanPart = std::set<std::string, std::less<>>;

bool is_of_part(const Finding& finding, const PlanPart& part);

/// @param all      findings with nothing left out.
/// @param without  findings when the one of that id is left out; asked once for each of `all`.
/// @return disjoint parts with at least one finding each, by their first machine.
std::vector<PlanPart> plan_parts(const FleetFacts& facts, const std::vector<Finding>& all,
                                 const std::function<std::vector<Finding>(const std::string&)>& without);

}  // namespace stint
