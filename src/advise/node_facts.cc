#include "advise/node_facts.h"

#include <algorithm>
#include <map>

#include "advise/find/gpu_load.h"
#include "advise/presence.h"
#include "base/text.h"
#include "ledger/node_hours.h"

namespace stint {
namespace {

bool is_production(const Tenant& t) {
  const auto says = [](const std::string& text) {
    return contains_ignoring_case(text, "prod") && !contains_ignoring_case(text, "nonprod");
  };
  return says(t.environment) || says(t.project) || says(t.workload);
}

/// The heaviest entry; ties to the smaller key.
template <typename Map>
const typename Map::value_type* heaviest(const Map& weights) {
  const typename Map::value_type* best = nullptr;
  for (const auto& entry : weights)
    if (best == nullptr || entry.second > best->second) best = &entry;
  return best;
}

void describe_node(NodeFacts& facts, const Node& node) {
  facts.name = node.name;
  facts.resource_id = node.resource_id.empty() ? node.name : node.resource_id;
  facts.zone = node.zone;
  facts.provider = node.provider;
  facts.region = node.region;
  facts.instance_type = node.instance_type;
  facts.gpu_model = node.gpu_model;
  facts.market = node.market;
  facts.kind = node.kind;
  facts.gpu_count = node.gpu_count;
  facts.vcpus = node.vcpus;
  facts.memory = node.memory;
  facts.checkpointable = node.checkpointable;
  facts.environment = node.tenant.environment;
  facts.client = node.tenant.client;
  facts.workload = node.tenant.workload;
}

/// Bill lines know what the inventory may not say.
void add_money(FleetFacts& fleet, const Ledger& ledger) {
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    if (!ledger.line_nodes[i].valid()) continue;
    NodeFacts& node = fleet.nodes[ledger.line_nodes[i].index()];
    const BillLine& line = ledger.lines[i];
    if (line.spend != SpendKind::kCompute) continue;
    node.compute += ledger.line_amounts[i];
    node.priced = true;
    const auto fill = [](std::string& to, const std::string& from) {
      if (to.empty()) to = from;
    };
    fill(node.provider, line.provider);
    fill(node.region, line.region);
    fill(node.instance_type, line.instance_type);
    if (node.market == Market::kUnknown) node.market = line.market;  // synthesised lines say it, too
    fill(node.environment, tenant_from_tags(line.tags).environment);
  }
}

void complete_from_catalog(NodeFacts& node, const History& history, std::span<const PhysicalGpu> gpus, const Catalog& catalog) {
  const InstanceType* type = node.instance_type.empty() ? nullptr
                             : node.provider.empty()    ? catalog.find_instance(node.instance_type)
                                                        : catalog.find_instance(node.provider, node.instance_type);
  if (type != nullptr) {
    if (node.provider.empty()) node.provider = type->provider;
    if (node.gpu_count == 0) node.gpu_count = type->whole_gpus();
    if (node.gpu_model.empty()) node.gpu_model = type->gpu_model;
    if (node.vcpus == 0) node.vcpus = type->vcpus;
    if (node.memory.count() == 0) node.memory = type->memory;
  }
  if (node.gpu_count == 0) node.gpu_count = static_cast<int64_t>(gpus.size());
  if (node.gpu_model.empty() && !gpus.empty()) {
    const PhysicalGpu& first = gpus.front();
    const Device& device = history.devices[first.whole.empty() ? first.instances.front() : first.whole.front()];
    const GpuFacts* gpu = catalog.find_gpu(device.model, device.memory);
    node.gpu_model = gpu == nullptr ? device.model : gpu->model;
  }
}

/// Marks the hours that runs held nodes.
/// @return per node, whether most of its runs are production: accounts such as `rank-prod` say what tenants may not.
std::vector<bool> mark_reservations(FleetFacts& fleet, const History& history) {
  std::vector<int64_t> production(fleet.nodes.size());
  std::map<std::string_view, size_t> by_name;
  for (size_t n = 0; n < history.nodes.size(); ++n)
    by_name.emplace(history.nodes[n].name, n);
  for (const Run& run : history.runs) {
    if (!run.started) continue;
    const Interval held = intersect({*run.started, run.ended.value_or(fleet.period.end)}, fleet.period);
    if (held.empty()) continue;
    for (const RunAllocation& allocation : run.allocations) {
      const auto it = by_name.find(allocation.node);
      if (it == by_name.end()) continue;
      NodeFacts& node = fleet.nodes[it->second];
      node.named_holder = true;
      production[it->second] += contains_ignoring_case(run.holder.account, "prod") || is_production(run.tenant) ? 1 : -1;
      const int64_t last = (held.end - Duration::nanoseconds(1)).hour_index() - fleet.first_hour;
      for (int64_t h = std::max<int64_t>(0, held.begin.hour_index() - fleet.first_hour); h <= last; ++h)
        if (h < static_cast<int64_t>(fleet.hour_count)) node.timeline[static_cast<size_t>(h)].reserved = true;
      if (!run.checkpointable || history.nodes[it->second].checkpointable) continue;
      node.checkpointable = node.checkpointable.value_or(true) && *run.checkpointable;
    }
  }
  std::vector<bool> mostly(fleet.nodes.size());
  for (size_t n = 0; n < mostly.size(); ++n)
    mostly[n] = production[n] > 0;
  return mostly;
}

/// Who held what: the kind and the people of a node and of each of its GPUs.
class Holders {
 public:
  Holders(const History& history, const Occupancy& occupancy) : occupancy_(occupancy), nodes_(history.nodes.size()) {
    devices_.resize(history.devices.size());
    for (const DeviceHour& hour : occupancy.hours)
      add(hour, history.devices[hour.device.index()].node, &devices_[hour.device.index()]);
    for (const DeviceHour& hour : occupancy.inferred_hours)
      add(hour, occupancy.inferred_devices[hour.device.index()].node, nullptr);
  }

  void describe(NodeFacts& node) const {
    const PerNode& of = nodes_[node.id.index()];
    if (const auto* kind = heaviest(of.kinds); kind != nullptr && node.kind == WorkloadKind::kUnknown) node.kind = kind->first;
    if (const auto* top = heaviest(of.tenants)) {
      const Tenant& tenant = occupancy_.tenants[top->first];
      if (node.client.empty()) node.client = tenant.client;
      if (node.environment.empty()) node.environment = tenant.environment;
      if (node.workload.empty()) node.workload = tenant.workload;
    }
    for (GpuLoad& gpu : node.gpus) {
      std::map<TenantId, int64_t> tenants;
      for (const uint32_t d : gpu.devices)
        for (const auto& [tenant, held] : devices_[d])
          tenants[tenant] += held;
      const auto* top = heaviest(tenants);
      if (top == nullptr) continue;
      gpu.client = occupancy_.tenants[top->first].client;
      gpu.workload = occupancy_.tenants[top->first].workload;
      for (const auto& [tenant, held] : tenants)
        gpu.mixed_clients |= occupancy_.tenants[tenant].client != gpu.client;
    }
  }

 private:
  struct PerNode {
    std::map<WorkloadKind, int64_t> kinds;
    std::map<TenantId, int64_t> tenants;
  };

  void add(const DeviceHour& hour, NodeId node, std::map<TenantId, int64_t>* device) {
    for (const Tenure& tenure : occupancy_.of(hour)) {
      if (tenure.held == 0) continue;
      // In millionths: a year of a large node stays far inside 64 bits.
      const int64_t held = std::max<int64_t>(1, tenure.held / 1000);
      if (tenure.kind != WorkloadKind::kUnknown) nodes_[node.index()].kinds[tenure.kind] += held;
      if (!can_be_billed(occupancy_.tenants[tenure.tenant])) continue;
      nodes_[node.index()].tenants[tenure.tenant] += held;
      if (device != nullptr) (*device)[tenure.tenant] += held;
    }
  }

  const Occupancy& occupancy_;
  std::vector<PerNode> nodes_;
  std::vector<std::map<TenantId, int64_t>> devices_;
};

void mark_telemetry_holders(NodeFacts& node, std::span<const PhysicalGpu> gpus, const Usage& usage, const History& history) {
  for (const PhysicalGpu& gpu : gpus)
    for (const auto* devices : {&gpu.whole, &gpu.instances})
      for (const uint32_t d : *devices)
        for (const DeviceUsage::Held& held : usage.devices[d].holders)
          node.named_holder |= !history.holders[held.holder.index()].empty();
}

}  // namespace

std::string service_name(const NodeFacts& node, const GpuLoad& gpu) {
  return gpu.workload.empty() ? (node.workload.empty() ? node.name : node.workload) : gpu.workload;
}

size_t hour_of_week(int64_t hour_index) {
  const int64_t since_monday = hour_index + 3 * 24;  // 1970-01-01 was a Thursday
  return static_cast<size_t>(((since_monday % 168) + 168) % 168);
}

TelemetryQuality telemetry_quality(double coverage_pct) {
  if (coverage_pct >= 90) return TelemetryQuality::kGood;
  if (coverage_pct >= 50) return TelemetryQuality::kFair;
  return coverage_pct > 0 ? TelemetryQuality::kPoor : TelemetryQuality::kNone;
}

std::string category_of(WorkloadKind kind, const Tenant& tenant) {
  switch (kind) {
    case WorkloadKind::kTraining:
    case WorkloadKind::kFineTuning: return is_production(tenant) ? "production training" : "training experiments";
    case WorkloadKind::kBatchInference: return "batch inference";
    case WorkloadKind::kRealtimeInference: return "serving";
    case WorkloadKind::kEvaluation: return "evaluation";
    case WorkloadKind::kNotebook: return "notebooks";
    case WorkloadKind::kUnknown: break;
  }
  return "other";
}

std::optional<Money> NodeFacts::hourly() const {
  int64_t seconds = 0;
  for (const NodeHour& h : timeline)
    seconds += h.on_s;
  if (seconds == 0 || compute.count_nanos() <= 0) return std::nullopt;
  return scale(compute, 3600, seconds);
}

FleetFacts collect_facts(const History& history, const Usage& usage, const Occupancy& occupancy, const Ledger& ledger,
                         const Catalog& catalog) {
  FleetFacts fleet{.period = history.period,
                   .months = BillingMonths(history.period),
                   .currency = ledger.total().currency(),
                   .first_hour = usage.period.begin.hour_index(),
                   .hour_count = usage.hour_count(),
                   .nodes = {}};
  fleet.nodes.resize(history.nodes.size());
  for (size_t n = 0; n < fleet.nodes.size(); ++n) {
    NodeFacts& node = fleet.nodes[n];
    node.id = NodeId(static_cast<uint32_t>(n));
    node.compute = Money::nanos(0, fleet.currency);
    node.timeline.resize(fleet.hour_count);
    describe_node(node, history.nodes[n]);
  }
  fleet.contradictions = let_bill_decide(fleet, ledger, catalog);
  add_money(fleet, ledger);
  const std::vector<PhysicalGpu> gpus = physical_gpus(history.devices);
  const std::vector<bool> production_runs = mark_reservations(fleet, history);

  std::vector<std::vector<PhysicalGpu>> by_node(fleet.nodes.size());
  for (const PhysicalGpu& gpu : gpus)
    by_node[gpu.node.index()].push_back(gpu);
  const Holders holders(history, occupancy);
  for (NodeFacts& node : fleet.nodes) {
    const auto& own = by_node[node.id.index()];
    complete_from_catalog(node, history, own, catalog);
    add_gpu_loads(node, own, history, usage);
  }
  add_presence(fleet, NodeHours::build(history, occupancy, TenantId()), ledger);
  for (NodeFacts& node : fleet.nodes) {
    const auto& own = by_node[node.id.index()];
    judge_coverage(node);
    mark_telemetry_holders(node, own, usage, history);
    holders.describe(node);
    if (node.kind == WorkloadKind::kUnknown)
      node.kind = guess_workload_kind(node.workload + " " + node.environment + " " + node.name);
    const std::string environment = production_runs[node.id.index()] ? "production" : node.environment;
    node.category = category_of(node.kind, {"", "", "", environment, node.workload});
    if (node.kind == WorkloadKind::kRealtimeInference) add_service_hours(node, history, usage);
  }
  fleet.spot = SpotBelief(history, fleet.nodes);
  return fleet;
}

FleetUse use_of(const FleetFacts& fleet) {
  FleetUse out;
  out.compute = Money::nanos(0, fleet.currency);
  double watched = 0, busy = 0;
  for (const NodeFacts& node : fleet.nodes) {
    for (const GpuLoad& gpu : node.gpus) {
      if (!gpu.mean_pct) continue;
      watched += gpu.covered_hours;
      busy += gpu.covered_hours * *gpu.mean_pct / 100;
    }
    out.gpu_hours += node.hours * static_cast<double>(std::max<int64_t>(node.gpu_count, static_cast<int64_t>(node.gpus.size())));
    out.compute += node.compute;
  }
  if (watched > 0) out.mean_pct = 100 * busy / watched;
  if (out.gpu_hours > 0) out.coverage_pct = std::min(100.0, 100 * watched / out.gpu_hours);
  const double useful = out.gpu_hours * out.mean_pct.value_or(0) / 100;
  if (useful > 0) out.per_useful_gpu_hour = Money::estimate(out.compute.to_double() / useful, fleet.currency);
  return out;
}

}  // namespace stint
