// stint plan commit --history: commitments for every type that a History has on demand.
#pragma once

#include <optional>
#include <string>

#include "cli/period_options.h"

namespace stint {

struct FleetCommitOptions {
  std::string history;
  PeriodOptions period;
  std::optional<int64_t> plan_discount_pct;
  std::string longest_term = "1y";
  uint64_t seed = 42;
  bool json = false;
};

Status print_fleet_commitments(const FleetCommitOptions& options);

}  // namespace stint
