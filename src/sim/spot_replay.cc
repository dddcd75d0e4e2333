#include "sim/spot_replay.h"

namespace stint::sim {

double cost_ratio(const SpotRun& run, const sched::SpotTask& task, const SpotPrices& prices) {
  const double on_demand = prices.on_demand.per_hour().to_double();
  const double paid = static_cast<double>(run.on_demand_ticks) * on_demand +
                      static_cast<double>(run.spot_ticks) * prices.spot.per_hour().to_double();
  return paid * static_cast<double>(task.tick_s) / (on_demand * static_cast<double>(task.work_s));
}

}  // namespace stint::sim
