// What sharing a GPU does to the time a request takes: the difference between "it fits" and "no user notices".
//
// A request that keeps a share w of the SMs busy while it runs takes w / f times as long on a MIG instance with a share f of them, and as
// long as now where w ≤ f; the same of memory bandwidth. w is measured (SM and DRAM activity over utilisation); where it is not, a request
// may take from as long as now up to 1 / f. In time slices a request may meet those of all neighbours, or none; under MPS neighbours may
// do each other more harm than turns would (interference.h), unless the pair was measured (catalog/measured_pairs.h).
// Queueing comes on top: it grows with the time a request takes.
#pragma once

#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "model/change.h"

namespace stint {

/// Of one piece of work, × as long as alone on a whole GPU.
struct ShareLatency {
  std::string workload;
  double least = 1;
  double most = 1;        ///< ≥ least; the same where it was measured
  bool measured = false;  ///< SM and memory activity on a MIG instance; beside neighbours, with each of them
};
/// By placement of the change, in its order.
std::vector<ShareLatency> latency_on_shares(const ShareGpus& change, const FleetFacts& facts);

/// The worst of them. All 1 when there are none.
struct LatencyRange {
  double least = 1;
  double most = 1;
  bool measured = true;
};
LatencyRange worst_of(const std::vector<ShareLatency>& all);

}  // namespace stint
