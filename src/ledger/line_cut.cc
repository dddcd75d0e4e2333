#include "ledger/line_cut.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stint {
namespace {

Money inside_of(Money amount, const LineCut& cut) {
  return share_between(amount, cut.before, cut.before + cut.inside, cut.inside + cut.outside);
}

}  // namespace

Money share_between(Money amount, int64_t begin, int64_t end, int64_t whole) {
  __extension__ typedef __int128 Int128;
  const auto until = [&](int64_t at) { return static_cast<int64_t>(Int128{amount.count_nanos()} * at / whole); };
  return Money::nanos(until(end) - until(begin), amount.currency());
}

std::optional<LineCut> cut_of(const BillLine& line, Interval period) {
  const Interval charge = line.charge_period;
  if (charge.empty()) {
    if (!period.contains(charge.begin)) return std::nullopt;
    return LineCut{{charge.begin, charge.begin}, 1, 0, 0};
  }
  const Interval within = intersect(charge, period);
  if (within.empty()) return std::nullopt;
  return LineCut{within, within.length().count_ns(), (charge.length() - within.length()).count_ns(),
                 (within.begin - charge.begin).count_ns()};
}

BillLine cut_line(const BillLine& line, const LineCut& cut) {
  BillLine out = line;
  if (cut.whole()) return out;
  out.charge_period = cut.within;
  out.billed = inside_of(line.billed, cut);
  out.effective = inside_of(line.effective, cut);
  if (line.list) out.list = inside_of(*line.list, cut);
  if (line.contracted) out.contracted = inside_of(*line.contracted, cut);
  return out;
}

std::optional<Duration> billed_hours(const BillLine& line, const LineCut& cut) {
  constexpr std::array<std::string_view, 6> kHourUnits = {"hours", "hour", "hrs", "hr", "h", "1 hour"};
  const auto is_unit = [&](std::string_view unit) { return equals_ignoring_case(trim(line.pricing_unit), unit); };
  if (std::none_of(kHourUnits.begin(), kHourUnits.end(), is_unit)) return std::nullopt;
  const auto hours = Money::parse(line.quantity);  // a decimal, kept in nano-hours
  if (!hours.ok() || hours->count_nanos() <= 0) return std::nullopt;
  const Money within = inside_of(*hours, cut);
  // One nano-hour is 3600 nanoseconds; more than a century is no quantity of hours.
  if (within.count_nanos() > 1'000'000 * int64_t{1'000'000'000}) return std::nullopt;
  return Duration::nanoseconds(within.count_nanos() * 3600);
}

}  // namespace stint
