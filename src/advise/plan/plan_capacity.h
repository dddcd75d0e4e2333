// A capacity plan: month by month whether to buy, release or cap, from a forecast by the hour, known changes included.
//
// The forecast gives five quantiles of every hour; between them the chance of an hour is read off in a straight line, beyond them it
// halves with every further step as long as that from p90 to p95 (or from p10 to p5). So the expected number of short hours
// is exact for these chances; the chance that a month has a short hour at all lies between that of its worst hour (if all hours rise
// and fall together) and the sum (if they never do).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "telemetry/forecast.h"

namespace stint {

/// Chance that the demand of that hour is above `level`.
double chance_above(const ForecastPoint& point, double level);

struct CapacityPlanOptions {
  double capacity = 0;             ///< > 0, in the forecast's unit
  double committed = 0;            ///< of it or beyond: paid for anyway
  double accepted = 0.1;           ///< chance of a shortage in the worst hour that nothing is done about
  double capped_share = 0.05;      ///< of a month's hours expected short, below which work waits instead of capacity being bought
  std::optional<Money> unit_hour;  ///< what a unit costs an hour
};

enum class CapacityAction { kEnough, kBuy, kRelease, kCap };
std::string_view name_of(CapacityAction a);  // "enough", "buy", "release", "cap"

struct CapacityMonth {
  Interval when;       ///< a calendar month, or the part of it that the forecast reaches
  bool tested = true;  ///< every hour is at a distance that the past has tried
  double mean = 0;     ///< expected
  double peak = 0;     ///< of the expected demand
  double peak_p10 = 0, peak_p90 = 0, peak_p95 = 0;
  double shortage_at_least = 0, shortage_at_most = 0;  ///< chance that some hour is short
  double short_hours = 0;                              ///< expected
  double committed_used = 0;                           ///< share of the commitment, expected; 1 without one
  CapacityAction action = CapacityAction::kEnough;
  /// Whole units: to buy so that the peak fits nine times in ten (low: the expected peak, high: nineteen times in twenty); to
  /// release so that the peak of this and all later months fits nineteen times in twenty (high: the expected peak); to hold back.
  double amount = 0, amount_low = 0, amount_high = 0;
  std::optional<Money> cost;  ///< of `amount` for the hours of the month
};

/// @param forecast  with steps of an hour and at least one point. @return error when an option is out of range.
Result<std::vector<CapacityMonth>> plan_capacity(const Forecast& forecast, const CapacityPlanOptions& options);

/// The same day of a later month, or that month's last: where a horizon of whole months ends. @param months  ≥ 0.
Instant months_after(Instant begin, int months);

}  // namespace stint
