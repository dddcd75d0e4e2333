// The fleet's own work as a workload on which advice is proven: what is recorded of its jobs, on machines that were there when the
// bill says so, at what they cost.
//
// A replay must not find room that was not there. So a job runs where jobs of its cluster (provider and region) ran, and never on the
// machine of a service. Work that only telemetry shows is run again where it is no service: each stretch of active hours of a machine
// is a job of that length on that machine, which begins when the stretch began. Services answer requests that no record holds: they
// are left out, and what is advised on them stays arithmetic.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "model/history.h"
#include "sim/workload.h"

namespace stint {

struct ProofWorkload {
  sim::Workload workload;
  int64_t recorded_jobs = 0;
  int64_t seen_stretches = 0;                   ///< of work known by telemetry alone
  std::map<std::string, std::string> left_out;  ///< machine → why nothing that happens to it can be replayed
  std::vector<sim::SimNode> left_out_nodes;     ///< the same machines
  std::vector<std::string> notes;               ///< what was assumed
};

/// Machines beyond the period, for work that ends late, are there as in the week before.
/// @return error when there is nothing to replay.
Result<ProofWorkload> proof_workload(const History& history, const FleetFacts& facts);

/// How long after the period work may end: later counts as not done.
inline constexpr Duration kProofPatience = Duration::hours(14 * 24);

}  // namespace stint
