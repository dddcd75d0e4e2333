// How long spot capacity lasts once it is had: hazards, and the rate of interruptions after some were seen.
//
// Interruptions are not always memoryless: young instances may be lost more often (Weibull, shape < 1), and providers
// that stop an instance after a day show a bathtub, many losses early and at the end. Hours throughout.
// Sources: Kadupitige, Jadhao, Sharma 2020, "Modeling the Temporally Constrained Preemptions of Transient Cloud VMs"
// (arXiv 1911.05160) for the bathtub; Gelman et al., "Bayesian Data Analysis", section 2.6, for the rate.
#pragma once

#include <cstdint>

#include "base/prng.h"
#include "base/result.h"

namespace stint {

class SpotHazard {
 public:
  static Result<SpotHazard> exponential(double mean_h);
  /// @param shape  below 1: the young are lost more often.
  static Result<SpotHazard> weibull(double scale_h, double shape);
  /// F(t) = early·(1 − e^{−t/early_h} + e^{(t−limit_h)/late_h}), and gone for certain where that reaches 1.
  /// @param early  share lost early, in (0, 1].
  static Result<SpotHazard> bathtub(double early, double early_h, double late_h, double limit_h);

  /// Until the first of `members` is lost, each of which lives by this hazard alone and is new when the others are: survival to the
  /// power of their number, which is a stretched hazard only for an exponential and a Weibull. @param members  ≥ 1.
  [[nodiscard]] SpotHazard first_of(int64_t members) const;

  /// Chance to last beyond `hours`.
  [[nodiscard]] double survival(double hours) const;
  /// Mean life, ∫ survival.
  [[nodiscard]] double mean_h() const;
  /// Expected life spent in [from, until], ∫ survival over it.
  [[nodiscard]] double hours_within(double from_h, double until_h) const;
  /// A life, by inversion.
  [[nodiscard]] double draw_h(Prng& prng) const;

 private:
  enum class Kind : uint8_t { kExponential, kWeibull, kBathtub };
  SpotHazard(Kind kind, double scale_h, double shape) : kind_(kind), scale_h_(scale_h), shape_(shape) {}
  [[nodiscard]] double survival_of_one(double hours) const;
  [[nodiscard]] double longest_h() const;

  Kind kind_;
  double scale_h_;  ///< mean, scale, or hours of the early losses
  double shape_;    ///< of Weibull, or the early share
  double late_h_ = 1;
  double limit_h_ = 0;
  double members_ = 1;  ///< kBathtub: the first of so many
};

/// Interruptions per hour of one type in one zone: a Gamma distribution.
struct InterruptionRate {
  double count = 1;  ///< shape: interruptions that the belief is worth
  double hours = 1;  ///< rate: hours it is worth

  /// A belief worth `weight_h` hours of watching, such as an advisor's band.
  static InterruptionRate prior(double per_hour, double weight_h) { return {per_hour * weight_h, weight_h}; }
  /// After `interruptions` were seen in `watched_h` instance hours.
  [[nodiscard]] InterruptionRate after(int64_t interruptions, double watched_h) const {
    return {count + static_cast<double>(interruptions), hours + watched_h};
  }
  [[nodiscard]] double mean() const { return count / hours; }
  /// @param probability  in (0, 1).
  [[nodiscard]] double quantile(double probability) const;
  [[nodiscard]] double draw(Prng& prng) const;
};

}  // namespace stint
