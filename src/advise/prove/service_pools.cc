#include "advise/prove/service_pools.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "advise/find/resize_fit.h"
#include "advise/prove/pool_replay.h"
#include "advise/share/share_latency.h"
#include "batching/replica_pool.h"

namespace stint {
namespace {

std::vector<ServiceReplicas> replicas_now(const ResizeNodes& change, const FleetFacts& facts) {
  struct Found {
    PoolHours hours;
    int64_t gpus = 0;
    int64_t together = 1;
    std::optional<double> p99_ms;
  };
  std::map<std::string, Found> found;
  for (const NodeFacts& node : facts.nodes) {
    if (node.kind != WorkloadKind::kRealtimeInference || std::ranges::find(change.nodes, node.name) == change.nodes.end())
      continue;
    std::map<std::string, int64_t> gang;
    for (const GpuLoad& gpu : node.gpus) {
      if (!gpu.in_use) continue;
      const std::string name = service_name(node, gpu);
      Found& f = found.try_emplace(name, Found{PoolHours(facts.hour_count), 0, 1, {}}).first->second;
      f.hours.add(node, gpu);
      ++f.gpus;
      if (gpu.in_gang) f.together = std::max(f.together, ++gang[name]);
      if (gpu.p99_ms) f.p99_ms = std::max(f.p99_ms.value_or(0), *gpu.p99_ms);
    }
  }
  std::vector<ServiceReplicas> out;
  for (const auto& [name, f] : found)
    out.push_back({name, f.together, std::max<int64_t>(1, f.gpus / f.together), 1, 1, f.hours.hours(f.together), f.p99_ms,
                   curve_of(facts, name)});
  for (ServiceReplicas& service : out)
    if (service.curve != nullptr) service.hours = by_capacity(std::move(service.hours), *service.curve);
  return out;
}

/// GPUs: a replica each, then each to the service of which a request would most likely find no free one in its busiest hours; ties by name.
/// Fewer GPUs than services are shared by all, by their work.
void deal_replicas(std::vector<ServiceReplicas>& services, int64_t gpus, double stretch) {
  std::vector<double> busiest;
  std::vector<double> work;
  for (const ServiceReplicas& s : services) {
    double sum = 0;
    double most = 0;
    for (const size_t h : busiest_hours(s))
      most = std::max(most, static_cast<double>(s.hours[h].peak) * stretch);
    for (const PoolHour& hour : s.hours)
      sum += std::max(0.0F, hour.busy);
    busiest.push_back(most);
    work.push_back(sum * static_cast<double>(s.together));
  }
  int64_t least = 0;
  for (const ServiceReplicas& s : services)
    least += s.together;
  if (gpus < least) {
    const double all = std::accumulate(work.begin(), work.end(), 0.0);
    for (size_t i = 0; i < services.size(); ++i)
      services[i].part = std::clamp(
          (all > 0 ? std::max(work[i] / all, 1e-9) : 1.0) * static_cast<double>(gpus) / static_cast<double>(services[i].together),
          1e-9, 1.0);
    return;
  }
  const auto need = [&](size_t i) {
    const auto replicas = static_cast<double>(services[i].then);
    return busiest[i] >= replicas ? 1 + busiest[i] / replicas : batching::chance_of_waiting(services[i].then, busiest[i]);
  };
  std::vector<double> needs;
  for (size_t i = 0; i < services.size(); ++i)
    needs.push_back(need(i));
  for (int64_t left = gpus - least;;) {
    std::optional<size_t> next;
    for (size_t i = 0; i < services.size(); ++i)
      if (services[i].together <= left && (!next || needs[i] > needs[*next])) next = i;
    if (!next) return;
    left -= services[*next].together;
    ++services[*next].then;
    needs[*next] = need(*next);
  }
}

}  // namespace

Result<ServiceOutlook> replay_pools(const ResizeNodes& change, const FleetFacts& facts, const Catalog& catalog,
                                    const ServiceDraws& draws) {
  std::vector<ServiceReplicas> services = replicas_now(change, facts);
  PoolReplay replay(facts, draws);
  if (services.empty()) return replay.outlook();
  const auto first = std::ranges::find_if(facts.nodes, [&](const NodeFacts& node) {
    return node.kind == WorkloadKind::kRealtimeInference && std::ranges::find(change.nodes, node.name) != change.nodes.end();
  });
  const InstanceType* type = catalog.find_instance(first->provider, change.to_instance_type);
  const GpuFacts* now = catalog.find_gpu(first->gpu_model);
  const GpuFacts* then = type == nullptr ? nullptr : catalog.find_gpu(type->gpu_model, type->gpu_memory);
  const auto speed = now == nullptr || then == nullptr ? std::nullopt : relative_throughput(*then, *now);
  if (!speed || speed->low <= 0) return invalid("how fast requests are on a {} is not known", change.to_instance_type);
  deal_replicas(services, type->whole_gpus() * change.to_count, 1 / speed->low);
  int64_t seats = 0;
  for (const ServiceReplicas& service : services) {
    replay.add(service, {.stretch = 1 / speed->high}, {.stretch = 1 / speed->low});
    seats += service.now * service.together;
  }
  ServiceOutlook out = replay.outlook();
  out.seats = seats;
  out.measured = speed->low == speed->high;
  out.pooled = true;
  return out;
}

namespace {

/// Replicas of a service as a change has them share GPUs.
struct SharedService {
  PoolHours hours;
  std::vector<const ShareGpus::Placement*> placements;
  double least = 1, most = 1;  ///< × as long that a request by itself takes
  bool measured = true;
  std::optional<double> p99_ms;
};

using Target = std::pair<std::string, int>;  // node, GPU

/// GPUs that are shared: what is done on each, and by which service.
class SharedGpus {
 public:
  SharedGpus(const ShareGpus& change, const FleetFacts& facts) : change_(change), facts_(facts) {
    const std::vector<ShareLatency> latency = latency_on_shares(change, facts);
    for (size_t i = 0; i < change.placements.size(); ++i)
      add(change.placements[i], latency[i]);
  }

  [[nodiscard]] std::vector<ServiceReplicas> services() const {
    std::vector<ServiceReplicas> out;
    for (const auto& [name, s] : services_) {
      ServiceReplicas& service = out.emplace_back();
      service.service = name;
      service.now = std::ssize(s.placements);
      service.then = has_walls() ? service.now : change_.mode == SharingMode::kMps ? service.now : gpus_of(s);
      service.hours = s.hours.hours(1);
      service.p99_ms = s.p99_ms;
      if (!has_walls()) add_neighbours(name, s, service);
    }
    return out;
  }

  /// What neighbours do waits in the same line where GPUs are given in turns. Under MPS kernels may run side by side without harm, or slow each other
  /// more than turns would.
  void replay(const ServiceReplicas& service, PoolReplay& into) const {
    const SharedService& s = services_.at(service.service);
    switch (change_.mode) {
      case SharingMode::kMig: return into.add(service, {.stretch = s.least}, {.stretch = s.most});
      case SharingMode::kTimeSlice: return into.add(service, {.beside = 1}, {.beside = 1});
      case SharingMode::kMps:
        if (s.measured) return into.add(service, {.stretch = s.most}, {.stretch = s.most});
        return into.add(service, {}, {.stretch = s.most, .beside = 1, .beside_only = true});
    }
  }

  [[nodiscard]] bool is_measured() const {
    return std::ranges::all_of(services_, [](const auto& s) { return s.second.measured; });
  }
  [[nodiscard]] bool is_beside_others() const { return change_.mode == SharingMode::kMps && !is_measured(); }

 private:
  [[nodiscard]] bool has_walls() const { return change_.mode == SharingMode::kMig; }

  void add(const ShareGpus::Placement& p, const ShareLatency& latency) {
    const auto node = std::ranges::find(facts_.nodes, p.from_node, &NodeFacts::name);
    if (node == facts_.nodes.end()) return;
    const auto gpu = std::ranges::find(node->gpus, p.from_gpu, &GpuLoad::index);
    if (gpu == node->gpus.end()) return;
    const bool is_service = node->kind == WorkloadKind::kRealtimeInference;
    const std::string name = is_service ? service_name(*node, *gpu) : "";
    PoolHours& beside = work_[{p.to_node, p.to_gpu}].try_emplace(name, facts_.hour_count).first->second;
    beside.add(*node, *gpu);
    if (!is_service) return;
    SharedService& s = services_.try_emplace(name, SharedService{PoolHours(facts_.hour_count), {}, 1, 1, true, {}}).first->second;
    s.hours.add(*node, *gpu);
    s.placements.push_back(&p);
    // The narrowest part decides; alone on a GPU a replica is as it is.
    const bool is_whole = has_walls() && p.mig_profile.empty();
    s.least = std::max(s.least, is_whole ? 1 : latency.least);
    s.most = std::max(s.most, is_whole ? 1 : latency.most);
    s.measured &= is_whole || change_.mode == SharingMode::kTimeSlice || latency.measured;
    if (gpu->p99_ms) s.p99_ms = std::max(s.p99_ms.value_or(0), *gpu->p99_ms);
  }

  static std::set<Target> targets_of(const SharedService& s) {
    std::set<Target> targets;
    for (const ShareGpus::Placement* p : s.placements)
      targets.emplace(p->to_node, p->to_gpu);
    return targets;
  }
  static int64_t gpus_of(const SharedService& s) { return std::ssize(targets_of(s)); }

  /// Of its GPUs: the part of the others' work, as many replicas as there will be over GPUs.
  void add_neighbours(const std::string& name, const SharedService& s, ServiceReplicas& service) const {
    const double each = static_cast<double>(service.then) / static_cast<double>(gpus_of(s));
    for (const Target& target : targets_of(s))
      for (const auto& [other, work] : work_.at(target)) {
        if (other == name) continue;
        const std::vector<PoolHour> hours = work.hours(1);
        for (size_t h = 0; h < hours.size(); ++h) {
          if (hours[h].busy < 0) continue;
          service.hours[h].beside += static_cast<float>(hours[h].busy * each);
          service.hours[h].beside_peak += static_cast<float>(hours[h].peak * each);
        }
      }
  }

  const ShareGpus& change_;
  const FleetFacts& facts_;
  std::map<std::string, SharedService> services_;
  std::map<Target, std::map<std::string, PoolHours>> work_;  // by service, "" = of none
};

}  // namespace

ServiceOutlook replay_pools(const ShareGpus& change, const FleetFacts& facts, const ServiceDraws& draws) {
  const SharedGpus shared(change, facts);
  const std::vector<ServiceReplicas> services = shared.services();
  PoolReplay replay(facts, draws);
  int64_t seats = 0;
  for (const ServiceReplicas& service : services) {
    shared.replay(service, replay);
    seats += service.now;
  }
  ServiceOutlook out = replay.outlook();
  out.seats = seats;
  out.measured = shared.is_measured();
  out.pooled = true;
  out.beside_others = shared.is_beside_others();
  return out;
}

}  // namespace stint
