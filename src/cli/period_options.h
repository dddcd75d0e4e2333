// --month, --since and --until: the period a command looks at.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace stint {

class Command;

struct PeriodOptions {
  std::string month;
  std::string since;
  std::string until;
};

void add_period_options(Command& command, PeriodOptions& options);

/// @return the month, or [since, until); empty when nothing was given. Error when both were, when one of the two
/// dates is missing, or when they are the wrong way round. A date is the start of its UTC day.
Result<Interval> parse_period(const PeriodOptions& options);

}  // namespace stint
