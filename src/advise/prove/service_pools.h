// Services on other machines or on shared GPUs: each is a pool of replicas behind a balancer, as it is and as the change leaves it.
//
// Measured: how busy each GPU was in each hour, and its busiest sample. Taken, since no record tells it:
//   * a request goes to a free replica, or waits in one line for the first that is (least connections, or a queue);
//   * within a level requests come by themselves (Poisson);
//   * the busiest samples of an hour's replicas fall together and last five minutes, which is as long as a sample may speak for: of
//     an hour a twelfth is a burst at the sum of the busiest samples, and the rest is what then is left of the mean;
//   * requests take equal times, or exponential ones: whichever suffers more decides.
// p99 is that of requests in the busiest 5 % of the hours. What an hour cannot serve waits for the next, and is late.
// The queue: batching/replica_pool.h, whose test holds it against requests simulated one by one.
#pragma once

#include "advise/prove/service_replay.h"

namespace stint {

/// Of services that the change touches.
/// @return error saying what is not known of the change.
Result<ServiceOutlook> replay_pools(const ResizeNodes& change, const FleetFacts& facts, const Catalog& catalog,
                                    const ServiceDraws& draws);
/// On MIG instances a replica is as fast as its part allows (share_latency.h); where GPUs are given in turns services wait in one line on all GPUs of
/// theirs; under MPS neighbours may do nothing to each other, or as much as measured pairs (interference.h).
ServiceOutlook replay_pools(const ShareGpus& change, const FleetFacts& facts, const ServiceDraws& draws);

}  // namespace stint
