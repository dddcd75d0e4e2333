// Daily cost: what each client's services cost on each UTC day, as far as bill lines say the day.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ledger/ledger.h"

namespace stint {

/// What a series is of.
struct DailyKey {
  bool idle = false;  ///< idle money, of no client
  std::string client;
  std::string provider, service;
  auto operator<=>(const DailyKey&) const = default;
};

struct DailyCost {
  int64_t first_day = 0;                          ///< days since 1970, UTC
  size_t days = 0;                                ///< whole days that the bill covers, from the first on
  std::map<DailyKey, std::vector<Money>> series;  ///< each has `days` amounts
  std::map<DailyKey, Money> undated;              ///< of lines longer than a day (25 h, for clocks that change)
  [[nodiscard]] Instant begin_of(size_t day) const;
  [[nodiscard]] Instant end() const { return begin_of(days); }
};

/// Lines are of the day in which they begin. Days end with the last that some bill covers whole; lines of days outside are left out.
DailyCost daily_cost(const Ledger& ledger);

}  // namespace stint
