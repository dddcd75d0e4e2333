// Services on other machines: each is a pool of replicas behind a balancer, as it is and as a ResizeNodes leaves it.
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

}  // namespace stint
