#include "serve/serve_figures.h"

#include <numbers>

namespace stint::serve {

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
  // A count that halves every half-life settles at rate × half-life ÷ ln 2.
  const double seconds = kHalfLife.to_seconds() / std::numbers::ln2;
  figures.per_second = static_cast<double>(rate_.at(now, kHalfLife)) / static_cast<double>(batching::RequestRate::kOne) / seconds;
  figures.p99 = recent_.quantile(now, 0.99);
  return figures;
}

}  // namespace stint::serve
