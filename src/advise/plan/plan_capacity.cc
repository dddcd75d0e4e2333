#include "advise/plan/plan_capacity.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stint {
namespace {

/// Chance above a quantile that is further out than the last one known.
double tail(double level, double outer, double inner) {
  constexpr double kOuterChance = 0.05;
  const double step = std::abs(outer - inner);
  if (step <= 0) return 0;
  return kOuterChance * std::exp2(-std::abs(level - outer) / step);
}

CapacityMonth month_of_points(std::span<const ForecastPoint> points, Interval when, const CapacityPlanOptions& options) {
  CapacityMonth m;
  m.when = when;
  double none = 1;
  double used = 0;
  for (const ForecastPoint& p : points) {
    m.tested &= p.tested;
    m.mean += p.expected / static_cast<double>(points.size());
    m.peak = std::max(m.peak, p.expected);
    m.peak_p10 = std::max(m.peak_p10, p.p10);
    m.peak_p90 = std::max(m.peak_p90, p.p90);
    m.peak_p95 = std::max(m.peak_p95, p.p95);
    const double chance = chance_above(p, options.capacity);
    m.shortage_at_least = std::max(m.shortage_at_least, chance);
    m.short_hours += chance;
    none = std::max(0.0, none - chance);
    used += std::min(p.expected, options.committed);
  }
  m.shortage_at_most = 1 - none;
  m.committed_used = options.committed > 0 ? used / options.committed / static_cast<double>(points.size()) : 1;
  return m;
}

double whole_above(double level, double limit) { return std::max(0.0, std::ceil(level - limit - 1e-9)); }
double whole_below(double level, double limit) { return std::max(0.0, std::floor(limit - level + 1e-9)); }

void decide(CapacityMonth& m, double later_p95, double later_peak, const CapacityPlanOptions& options) {
  const auto hours = static_cast<double>(m.when.length().count_ns() / kHour.count_ns());
  if (m.shortage_at_least > options.accepted) {
    m.action = m.short_hours >= options.capped_share * hours ? CapacityAction::kBuy : CapacityAction::kCap;
    m.amount = whole_above(m.peak_p90, options.capacity);
    m.amount_low = whole_above(m.peak, options.capacity);
    m.amount_high = whole_above(m.peak_p95, options.capacity);
    // The width of an interval that the past could not try is no reason to buy: what is expected has to be above the capacity.
    if (!m.tested) m.amount = m.amount_low;
    if (m.amount == 0) m.action = CapacityAction::kEnough;
  } else {
    m.amount = m.amount_low = whole_below(later_p95, options.capacity);
    m.amount_high = whole_below(later_peak, options.capacity);
    m.action = m.amount > 0 ? CapacityAction::kRelease : CapacityAction::kEnough;
    if (m.action == CapacityAction::kEnough) m.amount_high = 0;
  }
  const bool priced = m.action == CapacityAction::kBuy || m.action == CapacityAction::kRelease;
  if (options.unit_hour && priced)
    m.cost = Money::estimate(options.unit_hour->to_double() * m.amount * hours, options.unit_hour->currency());
}

}  // namespace

double chance_above(const ForecastPoint& p, double level) {
  if (level > p.p95) return tail(level, p.p95, p.p90);
  if (level < p.p5) return 1 - tail(level, p.p5, p.p10);
  struct Known {
    double value;
    double above;
  };
  const std::array<Known, 5> known = {{{p.p5, 0.95}, {p.p10, 0.9}, {p.expected, 0.5}, {p.p90, 0.1}, {p.p95, 0.05}}};
  // Of quantiles that coincide the last counts: what equals a level is not above it.
  for (size_t i = known.size(); i-- > 1;)
    if (level >= known[i - 1].value) {
      const double width = known[i].value - known[i - 1].value;
      if (level >= known[i].value || width <= 0) return known[i].above;
      return known[i - 1].above + (known[i].above - known[i - 1].above) * (level - known[i - 1].value) / width;
    }
  return known[0].above;
}

std::string_view name_of(CapacityAction a) {
  constexpr std::array<std::string_view, 4> kNames = {"enough", "buy", "release", "cap"};
  return kNames[static_cast<size_t>(a)];
}

Instant months_after(Instant begin, int months) {
  const CivilTime c = to_civil(begin);
  const int month = c.month - 1 + months;
  const Instant first = from_civil({.year = c.year + month / 12, .month = month % 12 + 1});
  return std::min(first + (begin - month_of(begin).begin), month_of(first).end);
}

Result<std::vector<CapacityMonth>> plan_capacity(const Forecast& forecast, const CapacityPlanOptions& options) {
  if (!(options.capacity > 0)) return invalid("a capacity of {}: expected more than 0", options.capacity);
  if (!(options.committed >= 0)) return invalid("a commitment of {}: expected 0 or more", options.committed);
  if (!(options.accepted > 0 && options.accepted < 1) || !(options.capped_share >= 0 && options.capped_share <= 1))
    return invalid("an accepted chance of {} and {} of the hours: expected above 0 to below 1, and 0 to 1", options.accepted,
                   options.capped_share);
  if (forecast.step != kHour || forecast.points.empty()) return invalid("a capacity plan needs a forecast by the hour");
  std::vector<CapacityMonth> months;
  const std::span<const ForecastPoint> points = forecast.points;
  const Instant end = forecast.begin + kHour * std::ssize(points);
  for (Instant at = forecast.begin; at < end;) {
    const Instant next = std::min(end, month_of(at).end);
    const auto first = static_cast<size_t>((at - forecast.begin).count_ns() / kHour.count_ns());
    const auto count = static_cast<size_t>((next - at).count_ns() / kHour.count_ns());
    // A forecast that begins within an hour has its last step cross the month; it belongs to the month it begins in.
    const size_t taken = std::max<size_t>(1, count);
    months.push_back(month_of_points(points.subspan(first, std::min(taken, points.size() - first)),
                                     {at, at + kHour * static_cast<int64_t>(taken)}, options));
    at = months.back().when.end;
  }
  double later_p95 = 0;
  double later_peak = 0;
  for (auto m = months.rbegin(); m != months.rend(); ++m) {
    later_p95 = std::max(later_p95, m->peak_p95);
    later_peak = std::max(later_peak, m->peak);
    decide(*m, later_p95, later_peak, options);
  }
  return months;
}

}  // namespace stint
