#include "advise/spot_math.h"

#include <cmath>

namespace stint {

double best_checkpoint_interval_h(const InterruptionModel& model) {
  const double m = model.mean_between.to_hours();
  const double d = model.checkpoint.to_hours();
  if (d >= 2 * m) return m;
  return std::sqrt(2 * d * m) * (1 + std::sqrt(d / (2 * m)) / 3 + d / (18 * m)) - d;
}

double expected_stretch(const InterruptionModel& model) {
  const double m = model.mean_between.to_hours();
  const double d = model.checkpoint.to_hours();
  const double tau = best_checkpoint_interval_h(model);
  return m * std::exp(model.restart.to_hours() / m) * std::expm1((tau + d) / m) / tau;
}

}  // namespace stint
