#include "telemetry/forecast_intervals.h"

#include <algorithm>
#include <cmath>

namespace stint {
namespace {

constexpr size_t kMostErrors = 1000;
constexpr double kAdaptation = 0.03;  // of a tail, per origin
constexpr double kLeastTail = 0.002;
constexpr double kMostTail = 0.15;

}  // namespace

void ErrorPool::learn(const Batch& batch) {
  ++batches_;
  low_ = std::clamp(low_ + kAdaptation * (kTail - batch.below), kLeastTail, kMostTail);
  high_ = std::clamp(high_ + kAdaptation * (kTail - batch.above), kLeastTail, kMostTail);
  errors_.insert(errors_.end(), batch.errors.begin(), batch.errors.end());
  if (errors_.size() > kMostErrors) errors_.erase(errors_.begin(), errors_.end() - static_cast<std::ptrdiff_t>(kMostErrors));
  sorted_.clear();
}

double ErrorPool::quantile(double share) const {
  if (errors_.empty()) return 0;
  if (sorted_.empty()) {
    sorted_ = errors_;
    std::sort(sorted_.begin(), sorted_.end());
  }
  // One error more than seen, at infinity, as conformal prediction has it; the largest seen stands for it.
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted_.size() + 1) - 1;
  const auto last = static_cast<double>(sorted_.size() - 1);
  const double at = std::clamp(share < 0.5 ? std::floor(rank) : std::ceil(rank), 0.0, last);
  return sorted_[static_cast<size_t>(at)];
}

}  // namespace stint
