#include "model/price_rule.h"

#include <algorithm>

#include "model/tenant.h"

namespace stint {
namespace {

constexpr Duration kLookedAhead = Duration::hours(366 * 24);

size_t hour_of_week(Instant t) { return static_cast<size_t>(weekday(t) * 24 + to_civil(t).hour); }

/// nullptr: it says nothing yet.
const RatePoint* point_at(const PriceRule& rule, Instant t) {
  const auto after = std::ranges::upper_bound(rule.points, t, {}, &RatePoint::from);
  return after == rule.points.begin() ? nullptr : &*std::prev(after);
}

/// The next full hour at which the rule begins or ceases to hold.
Instant next_hour_boundary(const WeekHours& hours, Instant t) {
  const bool holds = hours.test(hour_of_week(t));
  Instant hour = t.hour_start() + kHour;
  for (size_t i = 0; i < hours.size(); ++i, hour = hour + kHour)
    if (hours.test(hour_of_week(hour)) != holds) return hour;
  return MachinePrices::kNoChange;
}

}  // namespace

std::vector<uint32_t> rules_naming(std::string_view machine, std::span<const PriceRule> rules) {
  std::vector<uint32_t> naming;
  for (uint32_t r = 0; r < rules.size(); ++r)
    if (std::ranges::any_of(rules[r].machines, [&](const std::string& glob) { return glob_matches(glob, machine); }))
      naming.push_back(r);
  return naming;
}

Rate MachinePrices::at(Instant t) const {
  for (const uint32_t r : naming_) {
    const PriceRule& rule = rules_[r];
    if (rule.hours.any() && rule.hours.test(hour_of_week(t))) return rule.rate;
    if (const RatePoint* point = point_at(rule, t); point != nullptr) return point->rate;
  }
  return own_;
}

Instant MachinePrices::next_boundary(Instant t) const {
  Instant next = kNoChange;
  for (const uint32_t r : naming_) {
    const PriceRule& rule = rules_[r];
    if (rule.hours.any()) next = std::min(next, next_hour_boundary(rule.hours, t));
    if (const auto point = std::ranges::upper_bound(rule.points, t, {}, &RatePoint::from); point != rule.points.end())
      next = std::min(next, point->from);
  }
  return next;
}

Instant MachinePrices::next_change(Instant t) const {
  const Rate now = at(t);
  for (Instant next = next_boundary(t); next != kNoChange && next - t < kLookedAhead; next = next_boundary(next))
    if (at(next) != now) return next;
  return kNoChange;
}

Rate MachinePrices::most() const {
  Rate most = own_;
  for (const uint32_t r : naming_) {
    if (rules_[r].hours.any()) most = std::max(most, rules_[r].rate);
    for (const RatePoint& point : rules_[r].points)
      most = std::max(most, point.rate);
  }
  return most;
}

Rate MachinePrices::mean_over(Interval when) const {
  if (when.empty() || !vary()) return at(when.begin);
  __extension__ using Wide = __int128;
  Wide area = 0;
  over(when, [&](Interval part, Rate rate) { area += Wide{rate.per_hour().count_nanos()} * part.length().count_ns(); });
  return Rate::per_hour(Money::nanos(static_cast<int64_t>(area / when.length().count_ns()), own_.per_hour().currency()));
}

}  // namespace stint
