// What a client's work may cost in a month.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/money.h"
#include "base/time.h"

namespace stint {

/// The client's name where the budget is of the whole bill, idle money included.
inline constexpr const char* kWholeBill = "*";

struct ClientBudget {
  std::string client;
  std::optional<Interval> month;  ///< one UTC calendar month; none = each that has no row
  Money budget;                   ///< > 0
  uint64_t line = 0;              ///< of the file, for messages
};

}  // namespace stint
