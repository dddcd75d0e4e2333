// Goals: what a plan should reach, in one line each, and whether it does.
//
//   cost<=18000                 the month after the plan, in the bill's currency
//   saving>=58%                 of the bill
//   throughput>=100%            of the work of the period: more of the same jobs, replayed on the plan's machines
//   training-throughput>=140%   the same of training and fine-tuning alone
//   p99<=100%                   of the time a request of a service takes now, which advice keeps to (a promise of all services)
//   p99:search<=80ms            of one service: its requests' p99 in milliseconds, which advice keeps to (a promise)
//   saving-of:switch-market>=70%  by changes of one kind alone, of what their machines cost now
//
// A throughput counts as reached when that much work ends on the plan's machines without jobs taking much longer than they do now (the rule
// by which a proof judges a change). Where a goal is missed the verdict says by how much and what stands in the way; what was not measured
// or replayed is "not shown", never a success.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"

namespace stint {

enum class GoalMeasure : uint8_t { kCost, kSaving, kThroughput, kTrainingThroughput, kLatencyP99, kServiceP99, kSavingOf };

struct Goal {
  GoalMeasure measure = GoalMeasure::kCost;
  double bound = 0;         ///< money a month, percent or milliseconds; > 0
  std::string change_kind;  ///< of kSavingOf, as kind_of(Change)
  std::string service;      ///< of kServiceP99
  std::string text;         ///< as it was written, without blanks
};

/// @return error saying what is expected.
Result<Goal> parse_goal(std::string_view text);
/// One goal a line; empty lines and those that begin with # are none. @return error naming the line.
Result<std::vector<Goal>> parse_goals(std::string_view text);

enum class GoalOutcome : uint8_t { kHolds, kFails, kNotShown };
std::string_view name_of(GoalOutcome outcome);  // "holds", "fails", "not shown"

/// What stands between a plan and a goal of cost.
struct Obstacle {
  std::string what;
  Money amount;        ///< a month, that it keeps in the plan
  std::string remedy;  ///< what would remove it
};

struct GoalVerdict {
  Goal goal;
  GoalOutcome outcome = GoalOutcome::kNotShown;
  std::string figure;              ///< what was found: "17,913.00 USD a month"
  std::vector<std::string> why;    ///< how it was found, and what stands in the way
  std::vector<Obstacle> gap = {};  ///< of a cost or saving that is missed: they sum to what is missing
};

}  // namespace stint
