#include "advise/batch_curves.h"

#include <fmt/ranges.h>

#include <set>

#include "advise/node_facts.h"

namespace stint {

void add_batch_curves(FleetFacts& fleet, const BatchCurves& curves) {
  std::set<std::string> services;
  for (const NodeFacts& node : fleet.nodes)
    if (node.kind == WorkloadKind::kRealtimeInference)
      for (const GpuLoad& gpu : node.gpus)
        services.insert(service_name(node, gpu));
  for (const auto& [service, curve] : curves) {
    if (services.contains(service))
      fleet.batch_curves[service] = curve;
    else
      fleet.promise_notes.push_back(
          fmt::format("the batch curve of {} is for nothing: there is no such service; there {}", service,
                      services.empty() ? std::string("is none") : fmt::format("are {}", fmt::join(services, ", "))));
  }
}

const batching::BatchTable* curve_of(const FleetFacts& fleet, const std::string& service) {
  const auto found = fleet.batch_curves.find(service);
  return found == fleet.batch_curves.end() ? nullptr : found->second.get();
}

}  // namespace stint
