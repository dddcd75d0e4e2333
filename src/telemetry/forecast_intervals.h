// Prediction intervals from errors made before: quantiles of what came minus what was said, per distance, with tails that
// adapt so that the share of misses stays what it should be even when the demand changes its habits. An error made when the demand
// was rougher or calmer than now counts in proportion, within limits: calm hours before a storm say little about it.
// Source: Vovk et al., conformal prediction; Gibbs and Candès 2021, "Adaptive Conformal Inference Under Distribution Shift".
#pragma once

#include <cstddef>
#include <vector>

namespace stint {

/// Errors at one distance.
class ErrorPool {
 public:
  /// Errors of one origin, with how many of them fell below and above the interval that was said.
  struct Batch {
    std::vector<double> errors;
    double roughness = 1;  ///< of the demand at the origin, > 0
    double below = 0;      ///< share
    double above = 0;
  };
  void learn(const Batch& batch);

  /// Enough origins to trust its tails.
  [[nodiscard]] bool trusted() const { return batches_ >= kFewestBatches && errors_.size() >= kFewestErrors; }

  /// Errors with a share of 5, 10, 90 and 95 % (as adapted) below them; 0 when nothing is known.
  struct Tails {
    double p5 = 0, p10 = 0, p90 = 0, p95 = 0;
  };
  [[nodiscard]] Tails tails(double roughness_now) const;

  static constexpr double kTail = 0.05;
  static constexpr size_t kFewestBatches = 4;
  static constexpr size_t kFewestErrors = 20;

 private:
  struct Error {
    double error = 0;
    double roughness = 1;
  };
  std::vector<Error> errors_;  // in order of arrival, the oldest dropped
  size_t batches_ = 0;
  double low_ = kTail;
  double high_ = kTail;
};

}  // namespace stint
