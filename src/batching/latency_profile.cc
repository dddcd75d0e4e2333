#include "batching/latency_profile.h"

#include <algorithm>
#include <cmath>

namespace stint::batching {
namespace {

double at_quantile(const std::vector<Duration>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(place);
  const auto low_ns = static_cast<double>(sorted[low].count_ns());
  if (low + 1 == sorted.size()) return low_ns;
  return low_ns + (place - static_cast<double>(low)) * (static_cast<double>(sorted[low + 1].count_ns()) - low_ns);
}

Duration from_ns(double ns) { return Duration::nanoseconds(std::llround(ns)); }

/// As many quantiles for each size, so that sizes can be compared and mixed one by one.
constexpr size_t kQuantiles = 201;

}  // namespace

Result<LatencyProfile> LatencyProfile::create(std::vector<MeasuredBatch> measured) {
  std::sort(measured.begin(), measured.end(), [](const auto& a, const auto& b) { return a.batch < b.batch; });
  if (measured.empty() || measured.front().batch != 1) return invalid("a latency profile needs the times of a batch of 1");
  for (size_t i = 0; i < measured.size(); ++i) {
    MeasuredBatch& point = measured[i];
    if (i > 0 && point.batch == measured[i - 1].batch)
      return invalid("a batch of {} is there twice: give each size once", point.batch);
    if (point.times.empty()) return invalid("a batch of {} has no times: measure it or leave it out", point.batch);
    std::sort(point.times.begin(), point.times.end());
    if (point.times.front() <= Duration())
      return invalid("a batch of {} took {} ns", point.batch, point.times.front().count_ns());
    std::vector<Duration> quantiles;
    for (size_t k = 0; k < kQuantiles; ++k) {
      const Duration time = from_ns(at_quantile(point.times, static_cast<double>(k) / (kQuantiles - 1)));
      quantiles.push_back(i == 0 ? time : std::max(time, measured[i - 1].times[k]));
    }
    point.times = std::move(quantiles);
  }
  return LatencyProfile(std::move(measured));
}

std::vector<int64_t> LatencyProfile::measured_sizes() const {
  std::vector<int64_t> sizes;
  for (const MeasuredBatch& point : points_)
    sizes.push_back(point.batch);
  return sizes;
}

LatencyProfile::Between LatencyProfile::between(int64_t batch) const {
  CHECK(batch >= 1 && batch <= largest(), "a batch of {}: 1 to {} are measured", batch, largest());
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), batch, [](const auto& p, int64_t b) { return p.batch < b; });
  if (above->batch == batch) return {&*above, &*above, 0};
  const auto below = above - 1;
  return {&*below, &*above, static_cast<double>(batch - below->batch) / static_cast<double>(above->batch - below->batch)};
}

Duration LatencyProfile::quantile(int64_t batch, double q) const {
  const Between b = between(batch);
  const double below = at_quantile(b.below->times, q);
  return from_ns(b.part == 0 ? below : below + b.part * (at_quantile(b.above->times, q) - below));
}

Duration LatencyProfile::mean(int64_t batch) const {
  const Between b = between(batch);
  const auto mean_of = [](const std::vector<Duration>& times) {
    // The quantiles are the corners of a straight-lined distribution: the outer ones count half.
    double sum = -0.5 * static_cast<double>((times.front() + times.back()).count_ns());
    for (const Duration time : times)
      sum += static_cast<double>(time.count_ns());
    return sum / static_cast<double>(times.size() - 1);
  };
  const double below = mean_of(b.below->times);
  return from_ns(below + b.part * (mean_of(b.above->times) - below));
}

LatencyProfile LatencyProfile::scaled(const std::vector<double>& factors) const {
  CHECK(factors.size() == points_.size(), "{} factors for {} sizes", factors.size(), points_.size());
  std::vector<MeasuredBatch> points = points_;
  for (size_t i = 0; i < points.size(); ++i)
    for (Duration& time : points[i].times)
      time = std::max(Duration::nanoseconds(1), from_ns(static_cast<double>(time.count_ns()) * factors[i]));
  Result<LatencyProfile> profile = create(std::move(points));
  CHECK(profile.ok(), "scaled: {}", profile.error().message);
  return std::move(*profile);
}

LatencyCurve LatencyProfile::curve(int64_t max_batch, double q) const {
  std::vector<Duration> by_size;
  for (int64_t n = 1; n <= max_batch; ++n)
    by_size.push_back(quantile(n, q));
  Result<LatencyCurve> curve = LatencyCurve::create(std::move(by_size));
  CHECK(curve.ok(), "a profile's curve falls: {}", curve.error().message);
  return std::move(*curve);
}

}  // namespace stint::batching
