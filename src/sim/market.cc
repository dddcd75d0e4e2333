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

}  // namespace stint::sim
