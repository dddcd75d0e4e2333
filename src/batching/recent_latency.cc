#include "batching/recent_latency.h"

#include <algorithm>

namespace stint::batching {

void RecentLatency::add(Instant now, Duration time) {
  const int64_t half = std::max(half_of(now), newest_);
  // What the two hold of halves before the last is over.
  if (half > newest_) halves_[static_cast<size_t>(half % 2)] = {};
  if (half > newest_ + 1) halves_[static_cast<size_t>((half + 1) % 2)] = {};
  newest_ = half;
  halves_[static_cast<size_t>(half % 2)].add(time);
}

std::optional<Duration> RecentLatency::quantile(Instant now, double q) const {
  const int64_t half = half_of(now);
  if (half > newest_ + 1) return std::nullopt;
  LatencyHistogram all = halves_[static_cast<size_t>(newest_ % 2)];
  if (half <= newest_) all.merge(halves_[static_cast<size_t>((newest_ + 1) % 2)]);
  return all.count() == 0 ? std::nullopt : std::optional(all.quantile(q));
}

}  // namespace stint::batching
