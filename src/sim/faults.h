// What goes wrong with machines: failures, GPU failures, spot interruptions; from a model with a seed, or from a trace of
// how many instances there were.
//
// Outages are drawn ahead, as data: a scenario with faults can be printed, shrunk and run again. Every node draws from its
// own numbers, so that another node more or less leaves the fate of the rest unchanged.
// A GPU that fails takes its node out of service: that is what Slurm and Kubernetes do until it is replaced.
// Sources: exponential and Weibull failure times (Schroeder and Gibson 2006: shape 0.7–0.8 in large systems); notices of
// 120 s (AWS) and about 30 s (GCP, Azure).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/workload.h"

namespace stint::sim {

struct FaultModel {
  Duration node_mtbf = sched::kUnlimited;     ///< mean time between failures of one node; kUnlimited = none
  double node_shape = 1;                      ///< Weibull; 1 = exponential, below 1 failures come in bursts
  Duration gpu_mtbf = sched::kUnlimited;      ///< of one GPU
  Duration repair_mean = Duration::hours(4);  ///< exponential
  double spot_per_hour = 0;                   ///< interruptions of one spot node; others have none
  Duration spot_notice = Duration::minutes(2);
  Duration spot_return_mean = Duration::hours(1);  ///< until there is capacity again; exponential
  Duration provisioning = Duration::minutes(5);    ///< from then until the replacement is usable
};

/// From a machine that stands in back to spot: both run already.
inline constexpr Duration kMovingBack = Duration::minutes(1);

/// Outages that begin within `period`, by node, then time.
std::vector<Outage> draw_outages(const FaultModel& model, std::span<const SimNode> nodes, Interval period, uint64_t seed);

/// Spot interruptions of one node alone, ascending: what the market does to `identity` at an instant depends on the seed, the identity
/// and the hour, and on nothing else. So two scenarios that differ elsewhere, or begin at other times, meet the same luck where they are
/// alike (common random numbers). A shock while the node is away passes it by, which keeps the rate: shocks are a Poisson process.
/// @param identity  the same in all scenarios, such as the node's name.
std::vector<Outage> draw_interruptions(const FaultModel& model, NodeId node, std::string_view identity, Interval period,
                                       uint64_t seed);

/// > 0, with that mean. @param mean  > 0.
Duration draw_exponential(Prng& prng, Duration mean);
/// > 0, with that mean. @param shape  > 0.
Duration draw_weibull(Prng& prng, Duration mean, double shape);

}  // namespace stint::sim
