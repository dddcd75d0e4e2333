// Exchange rates by day, and money converted with them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "model/exchange_rate.h"

namespace stint {

/// The rate of a day without one is the last before it, at most so much older: the European Central Bank publishes none from
/// Thursday before Easter to Tuesday after it, nor at weekends.
inline constexpr Duration kOldestExchangeRate = Duration::hours(7 * 24);

class ExchangeRates {
 public:
  ExchangeRates() = default;
  /// In any order; of two of one day and pair the later one counts.
  explicit ExchangeRates(std::span<const ExchangeRate> rates);
  [[nodiscard]] bool empty() const { return by_pair_.empty(); }

  /// At the rate of the UTC day of `at`; between two currencies without one by way of a third that both have rates to. Rounded
  /// half to even, once. Zero converts without a rate.
  /// @param oldest  how much older than `at` a rate may be.
  /// @return error naming both currencies, the day and the remedy when there is no rate; or when the amount does not fit.
  [[nodiscard]] Result<Money> convert(Money amount, Currency to, Instant at, Duration oldest = kOldestExchangeRate) const;

 private:
  struct DayRate {
    int64_t day = 0;  ///< since 1970
    int64_t nanos = 0;
  };
  using Pair = std::pair<Currency, Currency>;  ///< base, other
  /// What one unit of `base` is worth in `other` on that day, in nano-units.
  [[nodiscard]] std::optional<int64_t> price(Currency base, Currency other, int64_t day, int64_t oldest_days) const;
  [[nodiscard]] Error no_rate(Currency from, Currency to, Instant at) const;

  std::vector<Currency> bases_;                   // ascending
  std::map<Pair, std::vector<DayRate>> by_pair_;  // ascending by day
};

}  // namespace stint
