// Spot prices over time: a seeded process for simulated markets.
//
// The process: the logarithm of the price wanders and is drawn back to its mean (an Ornstein–Uhlenbeck process, sampled
// every step), within a floor and the on-demand price, as AWS has set spot prices since 2017: smoothed, changed rarely, and
// not above on-demand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/workload.h"

namespace stint::sim {

struct SpotMarket {
  Rate on_demand;
  double mean_fraction = 0.4;   ///< of on-demand
  double floor_fraction = 0.1;  ///< never below
  double volatility = 0.05;     ///< standard deviation of the logarithm per step
  double reversion = 0.05;      ///< of the distance to the mean per step, 0 … 1
  Duration step = Duration::hours(1);
};
/// One point per step in which the price changed by at least a hundredth.
PriceSeries draw_prices(const SpotMarket& market, Interval period, uint64_t seed, std::string name);

}  // namespace stint::sim
