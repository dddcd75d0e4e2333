#include "advise/share/mig_bound.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stint {
namespace {

constexpr int64_t kFraction = 5040;  // prices are multiples of 1 / kFraction
constexpr int kSteps = 3000;

using SlicePrices = std::array<double, kMostMigProfiles>;

/// In 1 / kFraction of a slice.
int64_t bound_at(const MigGeometry& g, std::span<const MigCounts> patterns, const MigCounts& demand, size_t gpus,
                 const SlicePrices& prices) {
  std::array<int64_t, kMostMigProfiles> rounded{};
  int64_t bound = 0;
  for (size_t p = 0; p < g.profiles.size(); ++p) {
    const int64_t weight = g.profiles[p].compute_slices * kFraction;
    rounded[p] = std::clamp<int64_t>(std::llround(prices[p] * static_cast<double>(kFraction)), 0, weight);
    bound += (weight - rounded[p]) * demand[p];
  }
  int64_t best = 0;
  for (const MigCounts& pattern : patterns) {
    int64_t worth = 0;
    for (size_t p = 0; p < g.profiles.size(); ++p)
      worth += rounded[p] * pattern[p];
    best = std::max(best, worth);
  }
  return bound + best * static_cast<int64_t>(gpus);
}

}  // namespace

int64_t mig_bound(const MigGeometry& geometry, std::span<const MigCounts> patterns, const MigCounts& demand, size_t gpus) {
  const size_t profiles = geometry.profiles.size();
  const auto weight = [&](size_t p) { return static_cast<double>(geometry.profiles[p].compute_slices); };
  SlicePrices prices{};
  int64_t least = bound_at(geometry, patterns, demand, gpus, prices);  // without prices: all of the demand
  for (size_t p = 0; p < profiles; ++p)
    prices[p] = weight(p);
  const auto n = static_cast<double>(gpus);
  for (int step = 0; step < kSteps; ++step) {
    least = std::min(least, bound_at(geometry, patterns, demand, gpus, prices));
    const MigCounts* best = nullptr;
    double best_worth = -1;
    for (const MigCounts& pattern : patterns) {
      double worth = 0;
      for (size_t p = 0; p < profiles; ++p)
        worth += prices[p] * pattern[p];
      if (worth > best_worth) {
        best_worth = worth;
        best = &pattern;
      }
    }
    if (best == nullptr) break;
    double square = 0;
    for (size_t p = 0; p < profiles; ++p)
      square += std::pow(n * (*best)[p] - demand[p], 2);
    if (square == 0) break;
    const double length = 2.0 / (1 + 0.02 * step) / std::sqrt(square);
    for (size_t p = 0; p < profiles; ++p)
      prices[p] = std::clamp(prices[p] - length * (n * (*best)[p] - demand[p]), 0.0, weight(p));
  }
  return least / kFraction;
}

}  // namespace stint
