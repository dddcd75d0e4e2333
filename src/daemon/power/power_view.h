// What the pools of `power` have made, as it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"

namespace stint {

struct PowerView {
  struct Made {
    std::string name, pool, state, id, detail;
    Rate rate;
    Instant since;                 ///< its order; paid for since
    std::optional<Instant> until;  ///< it will be taken back
  };
  struct ShutPool {
    std::string pool, why;
    Instant until;
  };
  struct Short {
    std::string pool, why;
    int32_t missing = 0;
  };
  /// Could not be listed at the last look.
  struct Unread {
    std::string name, why;
  };
  Instant now;
  std::string by;  ///< "program", "simulated cloud"; empty = nothing is switched or made
  std::vector<Made> machines;
  std::vector<ShutPool> shut;
  std::vector<Short> shortages;
  std::vector<Unread> unread;
  std::optional<Rate> most_burn;
  int64_t made = 0, swept = 0, late = 0, stockouts = 0;  ///< since the daemon's start
};

}  // namespace stint
