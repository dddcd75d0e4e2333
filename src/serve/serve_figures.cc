#include "serve/serve_figures.h"

#include <cmath>
#include <numbers>

namespace stint::serve {
namespace {

/// A count that halves every half-life settles at rate × half-life ÷ ln 2.
double settles_at(Duration half_life) { return half_life.to_seconds() / std::numbers::ln2; }

double per_second(const batching::RequestRate& rate, Instant now, Duration half_life) {
  return static_cast<double>(rate.at(now, half_life)) / static_cast<double>(batching::RequestRate::kOne) / settles_at(half_life);
}

/// Of the rate so counted, where requests come at `rate` by Poisson: the count's variance is half its mean.
double deviation(double rate, Duration half_life) { return std::sqrt(rate / settles_at(half_life) / 2); }

}  // namespace

void TimeHistogram::add(Duration time) {
  size_t bucket = 0;
  while (bucket < kBounds && bound(bucket) < time)
    ++bucket;
  ++counts[bucket];
  sum += time;
}

void FigureBook::ended(Instant now, Duration time) {
  counts_.request_time.add(time);
  recent_.add(now, time);
}

ServeFigures FigureBook::read(Instant now) const {
  ServeFigures figures = counts_;
  const double steady = per_second(steady_, now, kSteadyHalfLife), latest = per_second(latest_, now, kLatestHalfLife);
  figures.per_second = latest > steady + 3 * deviation(steady, kLatestHalfLife) ? latest : steady;
  figures.p99 = recent_.quantile(now, 0.99);
  return figures;
}

}  // namespace stint::serve
