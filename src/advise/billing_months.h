// Everything the audit says is per month; this is the one place where a period becomes months.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/money.h"
#include "base/time.h"

namespace stint {

/// A period of whole UTC calendar months is that many months; any other is its hours in months of 730 hours.
class BillingMonths {
 public:
  /// @param period  not empty.
  explicit BillingMonths(Interval period);
  [[nodiscard]] double count() const { return static_cast<double>(period_) / static_cast<double>(month_); }
  /// An amount of the whole period as an amount per month, rounded half to even.
  [[nodiscard]] Money monthly(Money in_period) const { return scale(in_period, month_, period_); }
  /// The same for parts of a whole: rounded so that they sum to monthly(sum of the parts) exactly.
  [[nodiscard]] std::vector<Money> monthly(std::span<const Money> parts) const;
  /// Hours a machine that is always there runs in a month: 730, or those of the calendar months, averaged.
  [[nodiscard]] double hours_per_month() const;
  [[nodiscard]] bool whole_months() const { return whole_; }

 private:
  int64_t period_ = 1;  // in units of month_
  int64_t month_ = 1;
  Duration length_;
  bool whole_ = false;
};

}  // namespace stint
