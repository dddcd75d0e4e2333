#include "telemetry/forecast_intervals.h"

#include <algorithm>
#include <cmath>

namespace stint {
namespace {

constexpr size_t kMostErrors = 1000;
constexpr size_t kMostErrorsOfOrigin = 64;  // neighbours err alike: more of them would only drown other origins
constexpr double kAdaptation = 0.03;        // of a tail, per origin
constexpr double kLeastTail = 0.002;
constexpr double kMostTail = 0.15;
constexpr double kMostRescaling = 3;

/// The error a share of all lies below: one error more than seen, at infinity, as conformal prediction has it; the largest seen
/// stands for it.
double quantile(const std::vector<double>& sorted, double share) {
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() + 1) - 1;
  const double at = std::clamp(share < 0.5 ? std::floor(rank) : std::ceil(rank), 0.0, static_cast<double>(sorted.size() - 1));
  return sorted[static_cast<size_t>(at)];
}

}  // namespace

void ErrorPool::learn(const Batch& batch) {
  ++batches_;
  low_ = std::clamp(low_ + kAdaptation * (kTail - batch.below), kLeastTail, kMostTail);
  high_ = std::clamp(high_ + kAdaptation * (kTail - batch.above), kLeastTail, kMostTail);
  const size_t taken = std::min(batch.errors.size(), kMostErrorsOfOrigin);
  for (size_t i = 0; i < taken; ++i)
    errors_.push_back({batch.errors[i * batch.errors.size() / taken], batch.roughness});
  if (errors_.size() > kMostErrors) errors_.erase(errors_.begin(), errors_.end() - static_cast<std::ptrdiff_t>(kMostErrors));
}

ErrorPool::Tails ErrorPool::tails(double roughness_now) const {
  if (errors_.empty()) return {};
  std::vector<double> sorted;
  sorted.reserve(errors_.size());
  for (const Error& e : errors_)
    sorted.push_back(e.error * std::clamp(roughness_now / e.roughness, 1 / kMostRescaling, kMostRescaling));
  std::sort(sorted.begin(), sorted.end());
  return {quantile(sorted, low_), quantile(sorted, 2 * low_), quantile(sorted, 1 - 2 * high_), quantile(sorted, 1 - high_)};
}

}  // namespace stint
