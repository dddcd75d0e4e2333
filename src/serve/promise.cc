#include "serve/promise.h"

#include <cmath>

#include "batching/serving_sim.h"

namespace stint::serve {

double most_within_promise(const batching::LatencyProfile& latency, const ServedModelConfig& config, Duration promise) {
  constexpr int64_t kRequests = 4000;
  constexpr double kStep = 1.05;
  const batching::ServingSetup setup{config.max_batch, config.max_wait, config.instances};
  const auto kept = [&](double per_second) {
    return batching::simulate_serving(latency, setup, {}, {per_second, 1}, {promise, 990}, kRequests, 1).kept;
  };
  // Beyond what full batches without a pause answer, no queue stays short.
  double capacity = 0;
  for (const int64_t size : latency.measured_sizes())
    if (size <= config.max_batch) capacity = std::max(capacity, static_cast<double>(size) / latency.mean(size).to_seconds());
  double broken = capacity * static_cast<double>(config.instances);
  double good = broken / 1000;
  if (!kept(good)) return 0;
  while (broken > good * kStep) {
    const double middle = std::sqrt(good * broken);
    (kept(middle) ? good : broken) = middle;
  }
  return good;
}

}  // namespace stint::serve
