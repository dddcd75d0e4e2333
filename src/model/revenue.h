// What clients pay for the work: to set beside what it costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/money.h"
#include "base/time.h"

namespace stint {

/// One row of a list of revenue: a client, or one of its projects, in one month.
struct RevenueRow {
  std::string client;
  std::string project;  ///< empty = the client as a whole
  Interval month;       ///< one UTC calendar month
  Money revenue;
  std::optional<Money> cost_budget;  ///< what the work may cost
  uint64_t line = 0;                 ///< of the file, for messages
};

}  // namespace stint
