#include "batching/latency_watch.h"

#include <algorithm>
#include <cmath>

namespace stint::batching {
namespace {

/// Fewer say little of a size when another one has drifted.
constexpr size_t kEnough = 16;

double median(std::vector<double> ratios) {
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

}  // namespace

LatencyWatch::LatencyWatch(LatencyProfile measured) : profile_(std::move(measured)) {
  for (const int64_t batch : profile_.measured_sizes())
    sizes_.push_back({batch, {}, 0});
}

void LatencyWatch::add(int64_t items, Duration took) {
  const double ratio = took.to_seconds() / profile_.quantile(items, 0.5).to_seconds();
  Size& size = *std::ranges::lower_bound(sizes_, items, {}, &Size::batch);
  if (size.ratios.size() < kSeen)
    size.ratios.push_back(ratio);
  else
    size.ratios[size.next++ % kSeen] = ratio;
}

bool LatencyWatch::follow() {
  std::vector<std::optional<double>> factors;
  bool drifted = false;
  double furthest = 1;
  for (const Size& size : sizes_) {
    if (size.ratios.size() < kEnough) {
      factors.emplace_back();
      continue;
    }
    const double factor = median(size.ratios);
    factors.emplace_back(factor);
    if (size.ratios.size() < kSeen || (factor < kDrift && factor > 1 / kDrift)) continue;
    drifted = true;
    if (std::abs(std::log(factor)) > std::abs(std::log(furthest))) furthest = factor;
  }
  if (!drifted) return false;
  std::vector<double> of_all;
  for (size_t i = 0; i < factors.size(); ++i) {
    size_t nearest = 0, least = SIZE_MAX;
    for (size_t k = 0; k < factors.size(); ++k)
      if (const size_t away = k > i ? k - i : i - k; factors[k] && away < least) {
        least = away;
        nearest = k;
      }
    of_all.push_back(*factors[nearest]);
  }
  profile_ = profile_.scaled(of_all);
  ratio_ *= furthest;
  for (Size& size : sizes_)
    size = {size.batch, {}, 0};
  return true;
}

}  // namespace stint::batching
