// What a unit of one currency was worth in another on a day.
#pragma once

#include "base/money.h"
#include "base/time.h"

namespace stint {

struct ExchangeRate {
  Instant day;    ///< its begin, UTC
  Currency base;  ///< "EUR" in the files of the European Central Bank
  Money price;    ///< of one unit of `base`, in the other currency; > 0
  bool operator==(const ExchangeRate&) const = default;
};

/// No unit of a currency is worth more units of another one (a dinar of Kuwait is about 90,000 rials of Iran).
inline constexpr int64_t kMaxExchangeRate = 10'000'000;

}  // namespace stint
