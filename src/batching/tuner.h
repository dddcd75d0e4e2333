// From measured latencies and a promise to a setup: batch, wait, instances, replicas, device and what a million requests cost;
// or why the promise cannot be made.
//
// The answer of a device is the fewest replicas at which some setup keeps the promise in every simulated run, so that it keeps it in
// 95 % of all; among those setups, the one with the most room to spare. The refused neighbour is the most replicas below it at which the promise is
// broken in at least 90 % of runs even with their best setup; what lies between is a matter of luck. Of several devices the one that
// costs least per hour is the answer.
// Source of the method: profiles + discrete-event simulation, Crankshaw et al. 2020, "InferLine"; the batcher in the simulation
// is the one that serves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "batching/serving_sim.h"

namespace stint::batching {

/// A model on a device, measured with that many instances running at the same time.
struct DeviceProfile {
  std::string device;
  Rate price;  ///< of a device per hour; 0 where it is not known
  int64_t instances = 1;
  LatencyProfile latency;
  std::optional<Duration> front = {};  ///< a request's of the one thread that has a server's connections; none: not known
};

/// Of what that thread can do this part is used: the rest keeps its queue short, so that requests wait for it a few times what one takes.
inline constexpr double kFrontShare = 0.7;

struct TuneOptions {
  double per_second = 0;
  Promise promise;
  ArrivalPlan arrivals;
  int64_t most_replicas = 64;
  std::optional<int64_t> most_batch;  ///< none: the largest measured
  int64_t runs = 20;                  ///< simulated to confirm an answer
  int64_t requests = 20'000;          ///< counted in each
  uint64_t seed = 1;
};

struct TunedSetup {
  ServingSetup setup;
  int64_t replicas = 0;
  Duration at_promise;    ///< latency at the promise's quantile, mean of the runs
  double kept_share = 0;  ///< of the runs that keep the promise
  double mean_batch = 0;
  double busy = 0;
};

struct DeviceTuning {
  size_t profile = 0;  ///< index into the profiles given
  std::optional<TunedSetup> answer;
  std::optional<TunedSetup> neighbour;  ///< the nearest refused; none when the answer is one replica
  std::string reason;                   ///< why there is no answer
  Rate cost;                            ///< of all replicas per hour
  Money per_million;                    ///< requests, at the load asked for
  double most_per_second = 0;           ///< the answer keeps the promise up to this load, within 5 %
};

struct Tuning {
  std::vector<DeviceTuning> devices;  ///< as the profiles were given
  std::optional<size_t> best;         ///< of devices
};

/// For a server that runs: of one replica at this load, the setup that keeps the promise best by short simulated runs; when none can
/// bear the load, the one that answers most. @param options  sound; of its runs and replicas nothing is used
/// @return none when a request alone breaks the promise
std::optional<ServingSetup> best_setup(const DeviceProfile& profile, const TuneOptions& options);

/// @return error for contradictory options; a promise that cannot be kept is an answer, with its reasons.
Result<Tuning> tune(const std::vector<DeviceProfile>& profiles, const TuneOptions& options);

}  // namespace stint::batching
