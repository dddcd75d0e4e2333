#include "advise/plan/capacity_outlook.h"

#include <algorithm>
#include <cmath>

namespace stint {

CapacityOutlook outlook(const Forecast& forecast, const CapacityLimit& limit) {
  CapacityOutlook out;
  out.limit = limit;
  double peak_p95 = 0;
  for (size_t i = 0; i < forecast.points.size(); ++i) {
    const ForecastPoint& p = forecast.points[i];
    const Duration after = forecast.step * static_cast<int64_t>(i);
    if (!out.short_expected && p.expected > limit.amount) out.short_expected = after;
    if (!out.short_p90 && p.p90 > limit.amount) out.short_p90 = after;
    out.peak_expected = std::max(out.peak_expected, p.expected);
    out.peak_p90 = std::max(out.peak_p90, p.p90);
    peak_p95 = std::max(peak_p95, p.p95);
    out.mean_used += std::min(p.expected, limit.amount);
    out.mean_beyond += std::max(0.0, p.expected - limit.amount);
  }
  if (forecast.points.empty()) return out;
  const auto n = static_cast<double>(forecast.points.size());
  out.mean_used /= n;
  out.mean_beyond /= n;
  out.to_buy = std::ceil(std::max(0.0, out.peak_p90 - limit.amount));
  // Capacity must hold the worst hour; of a commitment only what no hour is expected to use is surely too much.
  const double needed = limit.kind == CapacityLimit::Kind::kCapacity ? peak_p95 : out.peak_expected;
  out.to_release = std::floor(std::max(0.0, limit.amount - needed));
  return out;
}

}  // namespace stint
