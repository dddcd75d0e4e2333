#include "sim/spot_math.h"

#include <cmath>

#include "sim/faults.h"

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

InterruptionModel interruption_model(double per_hour) { return {.mean_between = Duration::from_seconds(3600 / per_hour)}; }

SpotTime spot_time(Duration mean_between) {
  const sim::FaultModel faults;
  const double spot = mean_between.to_hours();
  const double away = faults.spot_return_mean.to_hours();
  const double cycle = spot + away + faults.provisioning.to_hours() + sim::kMovingBack.to_hours();
  return {.on_spot = spot / cycle, .on_demand = away / cycle};
}

}  // namespace stint
