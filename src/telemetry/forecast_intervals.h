// Prediction intervals from errors made before: quantiles of what came minus what was said, per distance, with tails that
// adapt so that the share of misses stays what it should be even when the demand changes its habits.
// Source: Vovk et al., conformal prediction; Gibbs and Candès 2021, "Adaptive Conformal Inference Under Distribution Shift".
#pragma once

#include <cstddef>
#include <vector>

namespace stint {

/// Errors at one distance, in units of the roughness at their origin.
class ErrorPool {
 public:
  /// Errors of one origin, with how many of them fell below and above the interval that was said.
  struct Batch {
    std::vector<double> errors;
    double below = 0;  ///< share
    double above = 0;
  };
  void learn(const Batch& batch);

  /// Enough origins to trust its tails.
  [[nodiscard]] bool trusted() const { return batches_ >= kFewestBatches && size() >= kFewestErrors; }
  [[nodiscard]] size_t size() const { return errors_.size(); }
  /// The error that a share `tail` (adapted) lies below, or above. @return 0 when nothing is known.
  [[nodiscard]] double below(double tail) const { return quantile(tail * low_ / kTail); }
  [[nodiscard]] double above(double tail) const { return quantile(1 - tail * high_ / kTail); }

  static constexpr double kTail = 0.05;
  static constexpr size_t kFewestBatches = 4;
  static constexpr size_t kFewestErrors = 20;

 private:
  [[nodiscard]] double quantile(double share) const;

  std::vector<double> errors_;  // in order of arrival, the oldest dropped
  mutable std::vector<double> sorted_;
  size_t batches_ = 0;
  double low_ = kTail;
  double high_ = kTail;
};

}  // namespace stint
