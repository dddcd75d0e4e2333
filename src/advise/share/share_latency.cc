#include "advise/share/share_latency.h"

#include <algorithm>

#include "advise/share/interference.h"
#include "model/mig.h"

namespace stint {
namespace {

const GpuLoad* load_of(const NodeFacts& node, int gpu) {
  const auto it = std::ranges::find(node.gpus, gpu, &GpuLoad::index);
  return it == node.gpus.end() ? nullptr : &*it;
}

ShareLatency on_instance(const MigProfile& profile, const MigGeometry& geometry, const GpuLoad* load) {
  const double compute = static_cast<double>(profile.compute_slices) / geometry.compute_slices;
  const double memory = static_cast<double>(profile.memory_slices) / geometry.memory_slices;
  ShareLatency out;
  out.measured = load != nullptr && load->sm_while_busy && load->memory_while_busy;
  if (out.measured)
    out.least = out.most = std::max({1.0, *load->sm_while_busy / compute, *load->memory_while_busy / memory});
  else
    out.most = std::max({1.0, 1 / compute, 1 / memory});
  return out;
}

/// Time slices are turns; under MPS all run at once. Each further neighbour adds as much as it would alone.
ShareLatency beside_neighbours(const ShareGpus& change, const ShareGpus::Placement& p, const std::string& gpu_model,
                               const MeasuredPairs& pairs) {
  ShareLatency out;
  out.measured = true;
  for (const ShareGpus::Placement& o : change.placements) {
    if (&o == &p || o.to_node != p.to_node || o.to_gpu != p.to_gpu) continue;
    const auto slowed = pairs.slowed(gpu_model, change.mode, p.workload, o.workload);
    out.measured &= slowed.has_value();
    out.least += slowed.value_or(1) - 1;
    out.most += slowed.value_or(change.mode == SharingMode::kTimeSlice ? 2 : most_slowed(1)) - 1;
  }
  return out;
}

}  // namespace

std::vector<ShareLatency> latency_on_shares(const ShareGpus& change, const FleetFacts& facts) {
  std::vector<ShareLatency> all;
  for (const ShareGpus::Placement& p : change.placements) {
    const auto node = std::ranges::find(facts.nodes, p.from_node, &NodeFacts::name);
    ShareLatency latency;
    const MigGeometry* geometry = node == facts.nodes.end() ? nullptr : find_mig_geometry(node->gpu_model);
    const MigProfile* profile = geometry == nullptr ? nullptr : geometry->find_profile(p.mig_profile);
    if (change.mode == SharingMode::kMig && profile != nullptr) {
      latency = on_instance(*profile, *geometry, load_of(*node, p.from_gpu));
    } else {
      latency = beside_neighbours(change, p, node == facts.nodes.end() ? "" : node->gpu_model, facts.pairs);
    }
    latency.workload = p.workload;
    all.push_back(std::move(latency));
  }
  return all;
}

LatencyRange worst_of(const std::vector<ShareLatency>& all) {
  LatencyRange worst;
  for (const ShareLatency& latency : all) {
    worst.least = std::max(worst.least, latency.least);
    worst.most = std::max(worst.most, latency.most);
    worst.measured &= latency.measured;
  }
  return worst;
}

}  // namespace stint
