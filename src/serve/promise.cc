#include "serve/promise.h"

#include <algorithm>
#include <cmath>

#include "batching/latency_watch.h"
#include "batching/serving_sim.h"
#include "batching/tuner.h"

namespace stint::serve {

namespace {

/// Of cores that threads share: some of their time goes into changing between these, and into what each finds no longer in the caches.
constexpr double kCoreShare = 0.85;

/// Times as long as alone that batches take while so many requests a second come: where there are fewer cores than threads, these share
/// them. @return none: requests take all of them
std::optional<double> stretched(double per_second, Duration front, int64_t cores, int64_t instances) {
  if (per_second <= 0) return 1;
  const double left = static_cast<double>(cores) * kCoreShare - per_second * front.to_seconds();
  if (left <= 0) return std::nullopt;
  return std::max(1.0, static_cast<double>(instances) / left);
}

}  // namespace

double most_within_promise(const batching::LatencyProfile& latency, const batching::BatchPolicy& policy, Duration promise,
                           std::optional<Duration> front, const SharedCores& shared) {
  constexpr int64_t kRequests = 4000;
  constexpr double kStep = 1.05;
  const auto times = [&latency](double factor) {
    return latency.scaled(std::vector<double>(latency.measured_sizes().size(), factor));
  };
  // Times may drift so far before what is promised follows them: it must hold until then.
  constexpr double kDrift = batching::LatencyWatch::kDrift;
  const batching::LatencyProfile slow = times(kDrift);
  const int64_t most_batch = policy.preferred.empty() ? policy.max_batch : policy.preferred.back();
  const batching::ServingSetup setup{most_batch, policy.max_wait, policy.instances};
  const auto kept = [&](double per_second) {
    std::optional<double> factor = 1;
    if (front && shared.count) {
      factor = stretched(per_second, *front, *shared.count, policy.instances);
      if (!factor) return false;
      *factor /= stretched(shared.seen_per_second, *front, *shared.count, policy.instances).value_or(*factor);
    }
    const batching::LatencyProfile& latencies = *factor != 1 ? times(kDrift * *factor) : slow;
    return batching::simulate_serving(latencies, setup, {per_second, 1}, {promise, 990}, {kRequests, 1}).kept;
  };
  // Beyond what full batches without a pause answer, no queue stays short.
  double capacity = 0;
  for (const int64_t size : slow.measured_sizes())
    if (size <= most_batch) capacity = std::max(capacity, static_cast<double>(size) / slow.mean(size).to_seconds());
  double broken = capacity * static_cast<double>(policy.instances);
  if (front) broken = std::min(broken, batching::kFrontShare / front->to_seconds());
  double good = broken / 1000;
  if (!kept(good)) return 0;
  while (broken > good * kStep) {
    const double middle = std::sqrt(good * broken);
    (kept(middle) ? good : broken) = middle;
  }
  return good;
}

batching::BatchPolicy policy_of(const ServedModelConfig& config, const batching::LatencyProfile& latency, double per_second,
                                std::optional<Duration> front) {
  batching::BatchPolicy policy;
  policy.buckets = {{0, latency.curve(config.max_batch, 0.5)}};
  policy.max_batch = config.max_batch;
  policy.max_wait = config.max_wait;
  policy.preferred = config.preferred;
  policy.instances = config.instances;
  policy.queue_limit = config.queue_limit;
  if (!config.tune) return policy;
  batching::TuneOptions options;
  options.per_second = 2 * std::max(1.0, per_second);
  options.promise.limit = *config.promise;
  options.most_batch = config.max_batch;
  const auto setup = batching::best_setup(
      {.device = "", .price = {}, .instances = config.instances, .latency = latency, .front = front}, options);
  if (!setup) return policy;
  policy.max_wait = setup->max_wait;
  policy.preferred.clear();
  // When more wait than was thought of, larger batches go, as long as they leave half the promise for the queue.
  for (const int64_t size : latency.measured_sizes())
    if (size == setup->max_batch || (size > setup->max_batch && size <= config.max_batch &&
                                     latency.quantile(size, 0.99).count_ns() <= config.promise->count_ns() / 2))
      policy.preferred.push_back(size);
  return policy;
}

}  // namespace stint::serve
