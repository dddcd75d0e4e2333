#include "sim/market.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/prng.h"

namespace stint::sim {

PriceSeries draw_prices(const SpotMarket& market, Interval period, uint64_t seed, std::string name) {
  CHECK(market.mean_fraction > 0 && market.step > Duration(), "mean {}", market.mean_fraction);
  PriceSeries series{std::move(name), {}};
  Prng prng(seed);
  const double mean = std::log(market.mean_fraction);
  double log_fraction = mean;
  double last = 0;
  for (Instant t = period.begin; t < period.end; t = t + market.step) {
    log_fraction += market.reversion * (mean - log_fraction) + market.volatility * prng.normal();
    const double fraction = std::clamp(std::exp(log_fraction), market.floor_fraction, 1.0);
    if (last > 0 && std::abs(fraction - last) < 0.01 * last) continue;
    last = fraction;
    // To the hundredth of a percent of on-demand: a price is a round number, not a double.
    const Money price = scale(market.on_demand.per_hour(), std::llround(fraction * 10'000), 10'000);
    series.points.push_back({t, Rate::per_hour(price)});
  }
  return series;
}

PriceSeries prices_from(std::vector<PricePoint> observed, std::string name) {
  std::ranges::stable_sort(observed, {}, &PricePoint::from);
  PriceSeries series{std::move(name), {}};
  for (size_t i = 0; i < observed.size(); ++i) {
    if (i + 1 < observed.size() && observed[i + 1].from == observed[i].from) continue;
    if (!series.points.empty() && series.points.back().rate == observed[i].rate) continue;
    series.points.push_back(observed[i]);
  }
  return series;
}

std::vector<Interval> cheap_windows(const PriceSeries& series, Interval period, Rate most) {
  std::vector<Interval> windows;
  for (size_t i = 0; i < series.points.size(); ++i) {
    if (series.points[i].rate > most) continue;
    const Instant end = i + 1 < series.points.size() ? series.points[i + 1].from : period.end;
    const Interval window = intersect({series.points[i].from, end}, period);
    if (window.empty()) continue;
    if (!windows.empty() && windows.back().end == window.begin)
      windows.back().end = window.end;
    else
      windows.push_back(window);
  }
  return windows;
}

}  // namespace stint::sim
