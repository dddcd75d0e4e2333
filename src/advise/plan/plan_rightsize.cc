#include "advise/plan/plan_rightsize.h"

#include <algorithm>
#include <set>

#include "advise/find/finder_text.h"
#include "advise/find/gpu_load.h"
#include "base/counted.h"
#include "catalog/sizing.h"

namespace stint {
namespace {

constexpr double kTooFullPct = 90;
constexpr size_t kMostDropped = 3;
constexpr int64_t kLeastReplicas = 2;

bool is_service(const NodeFacts& node) { return node.kind == WorkloadKind::kRealtimeInference; }

std::string service_of(const NodeFacts& node, const GpuLoad& gpu) {
  return gpu.workload.empty() ? (node.workload.empty() ? node.name : node.workload) : gpu.workload;
}

/// One service: its GPUs now and how busy they are.
struct Service {
  int64_t gpus = 0;
  double busy = 0;       // GPUs of now
  int64_t together = 1;  // GPUs that a replica spans
};

std::map<std::string, Service> services_of(const NodeGroup& group, const RightsizeOptions& options) {
  std::map<std::string, Service> services;
  for (const NodeFacts* node : group) {
    std::map<std::string, int64_t> gang;
    for (const GpuLoad& gpu : node->gpus) {
      if (!gpu.in_use) continue;
      Service& s = services[service_of(*node, gpu)];
      ++s.gpus;
      s.busy += gpu.busy_p95_pct.value_or(100) / 100;
      if (gpu.in_gang) s.together = std::max(s.together, ++gang[service_of(*node, gpu)]);
    }
  }
  for (auto& [name, s] : services)
    if (const auto known = options.demands.find(name); known != options.demands.end())
      s.busy = known->second.per_second / known->second.per_gpu;
  return services;
}

/// GPUs for all services; each has its own.
int64_t gpus_for(const std::map<std::string, Service>& services, double throughput, double headroom) {
  int64_t sum = 0;
  for (const auto& [name, s] : services) {
    // What stands on two replicas now does not fall with one later.
    const int64_t needed =
        std::max(gpus_for_demand(s.busy, throughput, headroom), std::min(kLeastReplicas, s.gpus / s.together) * s.together);
    sum += (needed + s.together - 1) / s.together * s.together;
  }
  return sum;
}

struct RightsizeGroup {
  NodeGroup nodes;
  RightsizeRow row;
  std::map<std::string, Service> services;
  const GpuFacts* gpu = nullptr;
  Money hourly;  // of all nodes
};

std::optional<double> worst_p99(const NodeGroup& group, const Usage& usage) {
  std::optional<double> worst;
  for (const NodeFacts* node : group)
    for (const GpuLoad& gpu : node->gpus)
      if (const auto p99 = request_p99_ms(gpu, usage)) worst = std::max(worst.value_or(0), *p99);
  return worst;
}

/// none: telemetry or price is missing.
std::optional<RightsizeGroup> group_of(const FleetView& fleet, const Usage& usage, const NodeGroup& nodes,
                                       const RightsizeOptions& options) {
  RightsizeGroup out{
      nodes, {}, {}, fleet.prices.catalog().find_gpu(nodes.front()->gpu_model), Money::nanos(0, fleet.facts.currency)};
  RightsizeRow& row = out.row;
  if (out.gpu == nullptr) return std::nullopt;
  for (const NodeFacts* node : nodes) {
    const auto need = resize_need(*node, fleet.prices.catalog());
    const auto hourly = fleet.books.hourly(node->id);
    if (!need || !hourly) return std::nullopt;
    row.need = node == nodes.front() ? *need : harder_of(row.need, *need);
    out.hourly += *hourly;
    row.gpus += node->gpu_count;
    const double full =
        node->memory_total && node->memory_total->count() > 0
            ? 100 * static_cast<double>(node->memory_peak->count()) / static_cast<double>(node->memory_total->count())
            : 0;
    // A job that fills its GPU is well placed; a service that does makes requests wait, or fails with the next.
    row.too_small |= is_service(*node) && (full >= kTooFullPct || need->p95_pct >= kTooFullPct);
  }
  const NodeFacts& first = *nodes.front();
  row.nodes = names_of(nodes);
  row.provider = first.provider;
  row.region = first.region;
  row.instance_type = first.instance_type;
  row.gpu_model = first.gpu_model;
  row.category = first.category;
  row.monthly = monthly_of(fleet, nodes);
  row.services = is_service(first);
  if (row.services) {
    out.services = services_of(nodes, options);
    row.service_count = std::ssize(out.services);
    row.p99_ms = worst_p99(nodes, usage);
    row.need.gpus = 1;
    for (const auto& [name, s] : out.services) {
      row.busy_gpus += s.busy;
      row.need.gpus = std::max(row.need.gpus, s.together);
    }
    // CPUs follow the GPUs: what one machine needs is decided by how many replicas it gets.
    row.need.vcpus = 0;
  }
  return out;
}

Money saving_with(const FleetView& fleet, const RightsizeGroup& g, const InstanceType& type, Money hourly, int64_t count) {
  if (count <= std::ssize(g.nodes)) {
    const auto saving = fleet.books.saving_of(ResizeNodes{g.row.nodes, type.name, "", count});
    if (saving.ok()) return *saving;
  }
  // More machines than now: as many hours each as the present ones run.
  double seconds = 0;
  for (const NodeFacts* node : g.nodes)
    seconds += static_cast<double>(fleet.books.of(node->id).seconds());
  const double hours = seconds / 3600 / static_cast<double>(g.nodes.size()) / fleet.facts.months.count();
  return g.row.monthly - Money::estimate(hourly.to_double() * hours * static_cast<double>(count), fleet.facts.currency);
}

/// The group on that type, or why not.
Result<RightsizeTarget> target_for(const FleetView& fleet, const RightsizeGroup& g, const InstanceType& type,
                                   const PriceLookup::Quote& quote, const RightsizeOptions& options) {
  const bool present = type.name == g.row.instance_type;
  if (auto misfit = resize_misfit(type, g.row.need)) return invalid("{}", *misfit);
  const GpuFacts* gpu = fleet.prices.catalog().find_gpu(type.gpu_model, type.gpu_memory);
  const auto relative = gpu == nullptr ? std::nullopt : relative_throughput(*gpu, *g.gpu);
  if (!relative) return invalid("its throughput is not known");
  RightsizeTarget out{&type, quote.hourly, std::ssize(g.nodes), std::ssize(g.nodes), *relative, {}, {}};
  if (g.row.services) {
    if (relative->low * options.slowest < 1) return invalid("a request could take {:.1f} × as long", 1 / relative->low);
    // Replicas of several GPUs stay within a machine.
    const int64_t per_machine = type.gpu_milli / 1000 / g.row.need.gpus * g.row.need.gpus;
    if (per_machine == 0) return invalid("less than a GPU");
    const auto machines = [&](double throughput) {
      const int64_t gpus = gpus_for(g.services, throughput, options.headroom);
      return std::max((gpus + per_machine - 1) / per_machine, std::min(kLeastReplicas, std::ssize(g.nodes)));
    };
    out.count = machines(relative->low);
    out.count_best = machines(relative->high);
  } else if (gpu->model != g.gpu->model && relative->low * kResizeHeadroom < g.row.need.p95_pct / 100) {
    return invalid("does {:.2f} of a {}, {:.2f} needed", relative->low, g.gpu->model, g.row.need.p95_pct / 100 / kResizeHeadroom);
  }
  if (present && out.count == std::ssize(g.nodes)) return invalid("the present one");
  out.saving_per_month = saving_with(fleet, g, type, quote.hourly, out.count);
  out.saving_best =
      out.count_best == out.count ? out.saving_per_month : saving_with(fleet, g, type, quote.hourly, out.count_best);
  return out;
}

void choose(const FleetView& fleet, RightsizeGroup& g, const RightsizeOptions& options) {
  const PlanNode& plan = fleet.books.of(g.nodes.front()->id);
  const Market market = plan.market == Market::kSpot ? Market::kSpot : Market::kOnDemand;
  std::vector<RightsizeTarget> fits;
  std::vector<std::pair<Money, RightsizeDropped>> dropped;
  for (const InstanceType& type : fleet.prices.catalog().instances()) {
    if (type.provider != plan.provider || type.gpu_milli == 0) continue;
    const auto* quote = fleet.prices.find({type.provider, type.name, plan.region}, market);
    if (quote == nullptr) continue;
    auto made = target_for(fleet, g, type, *quote, options);
    if (made.ok())
      fits.push_back(*made);
    else if (type.name != plan.instance_type && type.gpu_milli >= g.row.need.gpus * 1000)
      dropped.push_back({quote->hourly, {&type, made.error().message}});
  }
  std::sort(fits.begin(), fits.end(), [](const RightsizeTarget& a, const RightsizeTarget& b) {
    return std::tie(b.saving_per_month, a.type->name) < std::tie(a.saving_per_month, b.type->name);
  });
  const double least = g.row.monthly.to_double() * options.least_saving;
  std::erase_if(fits, [&](const RightsizeTarget& t) { return !g.row.too_small && t.saving_per_month.to_double() < least; });
  if (!fits.empty()) g.row.best = fits[0];
  if (fits.size() > 1) g.row.runner_up = fits[1];
  std::stable_sort(dropped.begin(), dropped.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const Money per_machine = scale(g.hourly, 1, std::ssize(g.nodes));
  const Money limit = g.row.best ? std::min(g.row.best->hourly, per_machine) : per_machine;
  for (const auto& [hourly, d] : dropped)
    if (hourly < limit && g.row.dropped.size() < kMostDropped) g.row.dropped.push_back(d);
}

Status check_demands(const FleetView& fleet, const RightsizeOptions& options) {
  std::set<std::string> known;
  for (const NodeFacts& node : fleet.facts.nodes)
    if (is_service(node))
      for (const GpuLoad& gpu : node.gpus)
        if (gpu.in_use) known.insert(service_of(node, gpu));
  for (const auto& [name, demand] : options.demands) {
    if (!known.contains(name)) {
      std::string names;
      for (const std::string& k : known)
        names += (names.empty() ? "" : ", ") + k;
      return invalid("no service '{}' in this fleet; there are {}", name, names.empty() ? "none" : names);
    }
    if (!(demand.per_gpu > 0) || !(demand.per_second >= 0))
      return invalid("service '{}': {} a second at {} each", name, demand.per_second, demand.per_gpu);
  }
  return {};
}

}  // namespace

Result<RightsizePlan> plan_rightsize(const FleetView& fleet, const Usage& usage, const RightsizeOptions& options) {
  TRY(check_demands(fleet, options));
  RightsizePlan plan;
  plan.monthly = plan.saving_per_month = plan.saving_best = Money::nanos(0, fleet.facts.currency);
  NodeGroups groups;
  int64_t unseen = 0;
  int64_t unpriced = 0;
  int64_t committed = 0;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& now = fleet.books.of(node.id);
    if (now.gone || node.gpu_count == 0) continue;
    if (now.market == Market::kOwned || now.market == Market::kReserved) {
      ++committed;
      continue;
    }
    if (!fleet.books.hourly(node.id)) {
      ++unpriced;
      continue;
    }
    if (node.quality < TelemetryQuality::kFair || !sees_all_gpus(node) || !resize_need(node, fleet.prices.catalog())) {
      ++unseen;
      continue;
    }
    // Nodes of jobs that need different things of a machine are separate groups.
    const auto need = resize_need(node, fleet.prices.catalog());
    const std::string size = is_service(node) ? "" : fmt::format("{:03}", need->gpus);
    groups[fmt::format("{}\t{}\t{}\t{}\t{}\t{}", now.provider, now.region, now.instance_type, name_of(now.market), node.category,
                       size)]
        .push_back(&node);
  }
  for (const auto& [key, nodes] : groups) {
    auto group = group_of(fleet, usage, nodes, options);
    if (!group) {
      unseen += std::ssize(nodes);
      continue;
    }
    choose(fleet, *group, options);
    plan.monthly += group->row.monthly;
    if (group->row.best) {
      plan.saving_per_month += group->row.best->saving_per_month;
      plan.saving_best += group->row.best->saving_best;
    }
    plan.rows.push_back(std::move(group->row));
  }
  const auto saved = [&](const RightsizeRow& r) {
    return r.best ? r.best->saving_per_month : Money::nanos(0, fleet.facts.currency);
  };
  std::stable_sort(plan.rows.begin(), plan.rows.end(),
                   [&](const RightsizeRow& a, const RightsizeRow& b) { return saved(a) > saved(b); });
  if (unseen > 0)
    plan.notes.push_back(counted(unseen, "node was", "nodes were") +
                         " left out: telemetry of utilisation and memory on every GPU, in half of the hours or "
                         "more, is needed to say what a smaller machine must hold");
  if (unpriced > 0) plan.notes.push_back(counted(unpriced, "node was", "nodes were") + " left out: no cost, or no known price");
  if (committed > 0)
    plan.notes.push_back(counted(committed, "node was", "nodes were") +
                         " left out: owned or reserved, which costs the same when another does the work");
  return plan;
}

Change change_of(const RightsizeRow& row) {
  CHECK(row.best.has_value(), "a row without a better type");
  return ResizeNodes{row.nodes, row.best->type->name, "", row.best->count};
}

}  // namespace stint
