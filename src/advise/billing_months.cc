#include "advise/billing_months.h"

#include "base/check.h"

namespace stint {

BillingMonths::BillingMonths(Interval period) : length_(period.length()) {
  CHECK(!period.empty(), "a period of {} has no months", period.length().to_hours());
  int64_t months = 0;
  Instant at = period.begin;
  while (at < period.end && month_of(at).begin == at) {
    at = month_of(at).end;
    ++months;
  }
  whole_ = at == period.end;
  if (whole_) {
    period_ = months;
  } else {
    // Seconds, so that amount × month stays far inside 128 bits.
    period_ = std::max<int64_t>(1, period.length().whole_seconds());
    month_ = (kHour * kHoursPerMonth).whole_seconds();
  }
}

std::vector<Money> BillingMonths::monthly(std::span<const Money> parts) const {
  std::vector<Money> out;
  out.reserve(parts.size());
  if (parts.empty()) return out;
  Money sum = Money::nanos(0, parts.front().currency());
  Money before = sum;
  for (const Money part : parts) {
    sum += part;
    const Money now = monthly(sum);
    out.push_back(now - before);
    before = now;
  }
  return out;
}

double BillingMonths::hours_per_month() const { return length_.to_hours() / count(); }

}  // namespace stint
