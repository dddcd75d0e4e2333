#include "advise/share/share_fit.h"

#include <algorithm>
#include <array>

#include "advise/promises.h"

namespace stint {
namespace {

Bytes memory_need(const ShareService& s) {
  return Bytes::of(static_cast<int64_t>(static_cast<double>(s.gpu->memory_peak.value_or(Bytes()).count()) * kShareMemoryMargin));
}

/// Packs those that may share with `pack`; the others get a GPU each.
template <typename Pack>
void pack_partly(const std::vector<bool>& alone, SharePacking& plan, Pack pack) {
  std::vector<size_t> shared;
  for (size_t i = 0; i < alone.size(); ++i)
    if (!alone[i]) shared.push_back(i);
  plan.gpus = pack(shared);
  for (PackedGpu& gpu : plan.gpus)
    for (size_t& item : gpu.items)
      item = shared[item];
  for (size_t i = 0; i < alone.size(); ++i)
    if (alone[i]) plan.gpus.push_back({{i}, {}});
}

bool has_mps(const GpuFacts* gpu) {
  constexpr std::array<std::string_view, 4> kBefore = {"Kepler", "Maxwell", "Pascal", ""};  // no isolated address spaces
  return gpu != nullptr && std::find(kBefore.begin(), kBefore.end(), gpu->architecture) == kBefore.end();
}

}  // namespace

std::string label_of(const ShareService& s) {
  return s.gpu->workload.empty() ? fmt::format("{} GPU {}", s.node->name, s.gpu->index) : s.gpu->workload;
}

ShareService share_service(const FleetFacts& facts, const NodeFacts& node, const GpuLoad& gpu) {
  const bool measured = gpu.busy_p95_pct && gpu.memory_peak && gpu.memory_total;
  return {&node, &gpu, !measured || gpu.in_gang, p99_bound(facts, service_name(node, gpu), gpu.p99_ms).pct / 100};
}

std::vector<ShareService> services_of(const FleetFacts& facts, const NodeGroup& pool) {
  std::vector<ShareService> services;
  for (const NodeFacts* node : pool)
    for (const GpuLoad& gpu : node->gpus)
      if (gpu.in_use) services.push_back(share_service(facts, *node, gpu));
  return services;
}

std::optional<int> share_profile(const MigGeometry& geometry, const ShareService& s, ShareRule rule) {
  if (s.whole) return std::nullopt;
  double compute = *s.gpu->busy_p95_pct / 100 * kShareComputeMargin;
  double bandwidth = 0;
  if (rule == ShareRule::kKeepLatency && s.node->kind == WorkloadKind::kRealtimeInference && s.gpu->sm_while_busy &&
      s.gpu->memory_while_busy) {
    // A request alone takes w/f times as long on a share f when it keeps w busy; with the queue before it, (1 − ρ)/(1 − ρ·w/f) times
    // that. Solved for f.
    const double slowest = s.slowest / (1 + (s.slowest - 1) * *s.gpu->busy_p95_pct / 100);
    compute = std::max(compute, *s.gpu->sm_while_busy / slowest);
    bandwidth = *s.gpu->memory_while_busy / slowest;
  }
  const auto profile = smallest_profile(geometry, memory_need(s), compute, bandwidth);
  if (!profile || geometry.profiles[static_cast<size_t>(*profile)].compute_slices == geometry.compute_slices) return std::nullopt;
  return profile;
}

std::optional<SharePacking> pack_by_mig(std::span<const ShareService> services, const std::string& gpu_model, ShareRule rule) {
  const MigGeometry* geometry = find_mig_geometry(gpu_model);
  if (geometry == nullptr) return std::nullopt;
  SharePacking plan;
  std::vector<bool> alone(services.size());
  plan.profiles.resize(services.size(), -1);
  for (size_t i = 0; i < services.size(); ++i) {
    const auto profile = share_profile(*geometry, services[i], rule);
    alone[i] = !profile;
    if (profile) plan.profiles[i] = *profile;
  }
  pack_partly(alone, plan, [&](const std::vector<size_t>& shared) {
    std::vector<int> profiles;
    for (const size_t i : shared)
      profiles.push_back(plan.profiles[i]);
    return pack_mig(*geometry, profiles);
  });
  return plan;
}

SharePacking pack_side_by_side(std::span<const ShareService> services, const GpuFacts* gpu) {
  SharePacking plan;
  const bool notebooks = std::any_of(services.begin(), services.end(),
                                     [](const ShareService& s) { return s.node->kind == WorkloadKind::kNotebook; });
  plan.mode = has_mps(gpu) && !notebooks ? SharingMode::kMps : SharingMode::kTimeSlice;
  std::vector<bool> alone;
  std::vector<Roommate> all;
  for (const ShareService& s : services) {
    alone.push_back(s.whole || s.gpu->client.empty() || s.gpu->mixed_clients);
    if (alone.back()) {
      all.emplace_back();
      continue;
    }
    const double memory = static_cast<double>(s.gpu->memory_peak->count()) / static_cast<double>(s.gpu->memory_total->count());
    all.push_back({s.gpu->client + '\t' + s.node->category, memory, *s.gpu->busy_p95_pct / 100});
  }
  pack_partly(alone, plan, [&](const std::vector<size_t>& shared) {
    std::vector<Roommate> items;
    for (const size_t i : shared)
      items.push_back(all[i]);
    return pack_shared(items);
  });
  return plan;
}

}  // namespace stint
