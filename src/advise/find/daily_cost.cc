#include "advise/find/daily_cost.h"

#include <algorithm>

namespace stint {
namespace {

constexpr Duration kDayLength = kHour * 24;
constexpr Duration kLongestDated = kHour * 25;

int64_t day_index(Instant t) { return floor_div(t.ns(), kDayLength.count_ns()); }

bool of_no_client(IdleCause cause) { return cause != IdleCause::kNone && cause != IdleCause::kInactive; }

}  // namespace

Instant DailyCost::begin_of(size_t day) const { return Instant() + kDayLength * (first_day + static_cast<int64_t>(day)); }

DailyCost daily_cost(const Ledger& ledger) {
  const Currency currency = ledger.total().currency();
  DailyCost out;
  // Whole days from the first to the last dated charge: a monthly fee's period says nothing of how far the bill has come.
  std::optional<Interval> dated;
  for (const BillLine& line : ledger.lines) {
    const Interval charge = line.charge_period;
    if (charge.empty() || charge.length() > kLongestDated) continue;
    if (!dated) dated = charge;
    dated->begin = std::min(dated->begin, charge.begin);
    dated->end = std::max(dated->end, charge.end);
  }
  if (dated) {
    out.first_day = day_index(dated->begin + kDayLength - Duration::nanoseconds(1));
    out.days = static_cast<size_t>(std::max<int64_t>(0, day_index(dated->end) - out.first_day));
  }
  for (const Posting& p : ledger.postings) {
    const BillLine& line = ledger.lines[p.bill_line];
    const bool idle = of_no_client(p.cause);
    const DailyKey key{idle, idle ? "" : ledger.tenants[p.tenant].client, line.provider, line.service};
    if (line.charge_period.length() > kLongestDated) {
      out.undated.try_emplace(key, Money::nanos(0, currency)).first->second += p.amount;
      continue;
    }
    const int64_t day = day_index(line.charge_period.begin) - out.first_day;
    if (day < 0 || day >= static_cast<int64_t>(out.days)) continue;
    auto& series = out.series[key];
    if (series.empty()) series.assign(out.days, Money::nanos(0, currency));
    series[static_cast<size_t>(day)] += p.amount;
  }
  return out;
}

}  // namespace stint
