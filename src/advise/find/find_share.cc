// Share: services that each keep a GPU to themselves and use little of it, packed by MIG, MPS or time slicing.
//
// A pool is machines of one type in one region with the same hours; what is saved is the machines no longer needed.
// Who may share with whom is in share_fit.h.
#include <algorithm>

#include "advise/promises.h"
#include "advise/share/share_fit.h"
#include "advise/share/share_latency.h"
#include "base/counted.h"

namespace stint {
namespace {

size_t nodes_needed(const SharePacking& plan, int64_t per_node) {
  const size_t gpus = std::max<size_t>(1, plan.gpus.size());
  return (gpus + static_cast<size_t>(per_node) - 1) / static_cast<size_t>(per_node);
}

/// The machines kept: those with the most work on them, so that little moves; ties by name.
std::vector<std::string> kept(NodeGroup pool, size_t count) {
  const auto in_use = [](const NodeFacts* n) {
    return std::count_if(n->gpus.begin(), n->gpus.end(), [](const GpuLoad& g) { return g.in_use; });
  };
  std::stable_sort(pool.begin(), pool.end(), [&](const NodeFacts* a, const NodeFacts* b) { return in_use(a) > in_use(b); });
  pool.resize(count);
  std::vector<std::string> names = names_of(pool);
  std::sort(names.begin(), names.end());
  return names;
}

using Seat = std::pair<std::string, int>;  // node, GPU

/// A seat for every packed GPU: one where some of its work already is, else any that is left.
std::vector<Seat> seats_for(const SharePacking& plan, const std::vector<ShareService>& services,
                            const std::vector<std::string>& keep, int64_t per_node) {
  std::vector<Seat> free;
  for (const std::string& node : keep)
    for (int g = 0; g < per_node; ++g)
      free.push_back({node, g});
  std::vector<std::optional<Seat>> seats(plan.gpus.size());
  for (size_t g = 0; g < plan.gpus.size(); ++g)
    for (const size_t i : plan.gpus[g].items) {
      const auto it = std::find(free.begin(), free.end(), Seat{services[i].node->name, services[i].gpu->index});
      if (it == free.end()) continue;
      seats[g] = *it;
      free.erase(it);
      break;
    }
  std::vector<Seat> all;
  size_t next = 0;
  for (const auto& seat : seats)
    all.push_back(seat ? *seat : free[next++]);
  return all;
}

ShareGpus change_for(const SharePacking& plan, const std::vector<ShareService>& services, const NodeGroup& pool,
                     std::vector<std::string> keep) {
  const MigGeometry* geometry = find_mig_geometry(pool.front()->gpu_model);
  ShareGpus change{plan.mode, names_of(pool), std::move(keep), {}};
  const std::vector<Seat> seats = seats_for(plan, services, change.keep, pool.front()->gpu_count);
  for (size_t g = 0; g < plan.gpus.size(); ++g)
    for (size_t k = 0; k < plan.gpus[g].items.size(); ++k) {
      const ShareService& s = services[plan.gpus[g].items[k]];
      ShareGpus::Placement p{label_of(s), s.node->name, s.gpu->index, seats[g].first, seats[g].second, "", -1, kWholeDevice};
      if (!plan.gpus[g].placements.empty()) {
        const MigPlacement& placed = plan.gpus[g].placements[k];
        const MigProfile& profile = geometry->profiles[static_cast<size_t>(placed.profile)];
        p.mig_profile = profile.name;
        p.memory_start = placed.start;
        p.parts = device_parts(geometry->parts_of(profile), geometry->total_parts());
      } else if (plan.gpus[g].items.size() > 1) {
        p.parts = kWholeDevice / static_cast<DeviceParts>(plan.gpus[g].items.size());
      }
      change.placements.push_back(std::move(p));
    }
  std::sort(change.placements.begin(), change.placements.end(), [](const auto& a, const auto& b) {
    return std::tie(a.to_node, a.to_gpu, a.memory_start, a.from_node, a.from_gpu) <
           std::tie(b.to_node, b.to_gpu, b.memory_start, b.from_node, b.from_gpu);
  });
  return change;
}

/// "3 × 2g.10gb on 2 GPUs", by layout.
std::string layouts_text(const SharePacking& plan, const std::string& gpu_model) {
  const MigGeometry* geometry = find_mig_geometry(gpu_model);
  std::map<std::string, int> layouts;
  for (const PackedGpu& gpu : plan.gpus) {
    if (gpu.placements.empty()) {
      ++layouts[gpu.items.size() == 1 ? "one service alone" : counted(gpu.items.size(), "service") + " side by side"];
      continue;
    }
    MigLayout layout = gpu.placements;
    std::sort(layout.begin(), layout.end());
    ++layouts[describe(*geometry, layout)];
  }
  std::string text;
  for (const auto& [layout, count] : layouts)
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", layout, counted(count, "GPU"));
  return text;
}

Finding finding_for(const FleetView& fleet, const NodeGroup& pool, const std::vector<ShareService>& services,
                    const SharePacking& plan, size_t needed) {
  Finding f;
  const int64_t per_node = pool.front()->gpu_count;
  f.change = change_for(plan, services, pool, kept(pool, needed));
  f.title = fmt::format("Pack {} of {} × {} onto {} by {}", counted(services.size(), "service"), pool.size(),
                        pool.front()->instance_type, needed,
                        plan.mode == SharingMode::kMig   ? "MIG"
                        : plan.mode == SharingMode::kMps ? "MPS"
                                                         : "time slicing");
  f.confidence = at_most(confidence_of(fleet, pool), Level::kMedium);
  f.risk = Level::kMedium;
  f.effort = Level::kHigh;
  add_use(f, pool);
  f.evidence.push_back(
      {"GPUs with a service", fmt::format("{} of {}", services.size(), per_node * static_cast<int64_t>(pool.size()))});
  f.evidence.push_back({"layout", layouts_text(plan, pool.front()->gpu_model)});
  f.arithmetic.push_back(cost_line(fleet, pool));
  f.arithmetic.push_back(
      plan.mode == SharingMode::kMig
          ? fmt::format(
                "each service gets a slice with memory ≥ {:.1f} × its peak and compute ≥ {:.1f} × what it uses in the "
                "busiest 5 % of its working time; where it was measured how much of a GPU its requests keep busy, enough of it "
                "that they {}",
                kShareMemoryMargin, kShareComputeMargin, promise_text(fleet.facts))
          : fmt::format("on each GPU memory peaks sum to ≤ {:.0f} % and busy p95 utilisation to ≤ {:.0f} %, one client only",
                        kSharedMemoryLimit * 100, kSharedComputeLimit * 100));
  f.arithmetic.push_back(fmt::format("{} on {} = {} of {} ({} each); {} given back", counted(services.size(), "service"),
                                     counted(plan.gpus.size(), "GPU"), needed, counted(pool.size(), "machine"),
                                     counted(per_node, "GPU"), pool.size() - needed));
  const LatencyRange latency = worst_of(latency_on_shares(std::get<ShareGpus>(f.change), fleet.facts));
  f.evidence.push_back(
      {"time of a request on its share, at most",
       latency.measured
           ? fmt::format("{:.2f} × as now, {}", latency.most,
                         plan.mode == SharingMode::kMig ? "by the SMs and the memory bandwidth it keeps busy while it runs"
                                                        : "as measured beside its neighbours")
           : fmt::format("{:.2f} to {:.2f} × as now: {} was not measured", latency.least, latency.most,
                         plan.mode == SharingMode::kMps ? "what neighbours do to each other"
                                                        : "how much of a GPU a request keeps busy")});
  f.caveats.push_back("latency under the new share must be measured at peak before the machines go");
  if (plan.mode == SharingMode::kMig)
    f.caveats.push_back("changing a GPU's MIG layout needs it empty: drain one machine at a time");
  if (plan.mode == SharingMode::kMps) f.caveats.push_back("a fault of one process can take down those that share its GPU");
  if (plan.mode == SharingMode::kTimeSlice)
    f.caveats.push_back("time slices do not limit memory: one session can take what another needs");
  return f;
}

/// Slices that hold the work, though not the time its requests take.
Finding too_slow(const FleetView& fleet, const NodeGroup& pool, const std::vector<ShareService>& services,
                 const SharePacking& plan, size_t needed) {
  Finding f = finding_for(fleet, pool, services, plan, needed);
  if (const auto saving = fleet.books.saving_of(f.change); saving.ok()) f.alone_per_month = *saving;
  f.caveats.insert(
      f.caveats.begin(),
      fmt::format("a machine becomes free only by slices on which a request takes up to {:.2f} × as long by itself, by the "
                  "SMs and memory bandwidth measured; with the queue before it a service must {}",
                  worst_of(latency_on_shares(std::get<ShareGpus>(f.change), fleet.facts)).most, promise_text(fleet.facts)));
  return f;
}

}  // namespace

Proposals find_share(const FleetView& fleet) {
  NodeGroups pools;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    const bool shareable = node.category == "serving" || node.category == "batch inference" || node.category == "notebooks";
    const bool seen = node.quality >= TelemetryQuality::kFair && node.gpu_count > 0 && sees_all_gpus(node);
    const bool cut = std::any_of(node.gpus.begin(), node.gpus.end(), [](const GpuLoad& g) { return g.cut_by_mig; });
    if (plan.gone || plan.structure_changed || plan.monthly.count_nanos() <= 0 || !shareable || !seen || cut ||
        node.mean_pct.value_or(100) >= kLowUtilizationPct)
      continue;
    pools[fmt::format("{}\t{}\t{}\t{}\t{}\t{}", plan.provider, plan.region, plan.instance_type, node.gpu_model,
                      name_of(plan.market), plan.seconds())]
        .push_back(&node);
  }
  Proposals out;
  for (const auto& [key, pool] : pools) {
    const std::vector<ShareService> services = services_of(fleet.facts, pool);
    if (pool.size() < 2 || services.empty()) continue;
    const int64_t per_node = pool.front()->gpu_count;
    SharePacking best = pack_side_by_side(services, fleet.prices.catalog().find_gpu(pool.front()->gpu_model));
    if (auto mig = pack_by_mig(services, pool.front()->gpu_model);
        mig && nodes_needed(*mig, per_node) <= nodes_needed(best, per_node))
      best = std::move(*mig);
    const size_t needed = nodes_needed(best, per_node);
    if (needed < pool.size())
      out.advised.push_back(finding_for(fleet, pool, services, best, needed));
    else if (const auto tight = pack_by_mig(services, pool.front()->gpu_model, ShareRule::kFit);
             tight && nodes_needed(*tight, per_node) < pool.size())
      out.rejected.push_back(too_slow(fleet, pool, services, *tight, nodes_needed(*tight, per_node)));
  }
  return out;
}

}  // namespace stint
