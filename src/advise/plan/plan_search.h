// Searching plans: every set of findings that may be left out, where they are few, and greedy steps where they are many.
//
// Leaving a finding out makes room: others that it stood in the way of appear. So the sets are reached one finding at a time, always
// one of those that are in the plan by then. All distinct plans are reached that way: leaving out what a plan does not hold anyway changes
// nothing.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"

namespace stint {

/// Ids of the findings that are left out.
using LeftOut = std::vector<std::string>;

/// Every plan that can be reached by leaving out findings of `may_leave(set)`, the empty set first, then sets of one, of two … Equal sets are
/// visited once, and `visit` is asked before anything is left out of its plan.
/// @param visit  looks at the plan without these; @return the findings that may be left out of it as well.
/// @return false when `most` sets were visited and there were more.
bool for_each_left_out(size_t most, const std::function<std::vector<std::string>(const LeftOut&)>& visit);

/// What counts on the front of cost against time.
struct FrontMark {
  Money cost;
  double time_s = 0;
  size_t left_out = 0;  ///< of equal plans the one that leaves out the least stays
};
/// Indexes of those that no other beats in both, ascending by cost, so descending by time.
/// @param step_s  less than that quicker does not count.
std::vector<size_t> best_marks(std::span<const FrontMark> marks, double step_s);

}  // namespace stint
