#include "advise/plan/rightsize_target.h"

#include <algorithm>
#include <array>

#include "catalog/sizing.h"

namespace stint {
namespace {

constexpr double kTooFullPct = 90;
constexpr size_t kMostDropped = 3;
constexpr int64_t kLeastReplicas = 2;
constexpr double kServedInTimePct = 98;

bool answers_requests(const NodeFacts& node) { return node.kind == WorkloadKind::kRealtimeInference; }

std::map<std::string, ServicePool> pools_of(const FleetFacts& facts, const NodeGroup& group, const RightsizeOptions& options) {
  std::map<std::string, ServicePool> services;
  for (const NodeFacts* node : group) {
    std::map<std::string, int64_t> gang;
    for (const GpuLoad& gpu : node->gpus) {
      if (!gpu.in_use) continue;
      ServicePool& s = services[service_name(*node, gpu)];
      ++s.gpus;
      const double busy = gpu.busy_p95_pct.value_or(100) / 100;
      const batching::BatchTable* curve = curve_of(facts, service_name(*node, gpu));
      s.busy += curve == nullptr ? busy : curve->share_at(busy);
      if (gpu.in_gang) s.together = std::max(s.together, ++gang[service_name(*node, gpu)]);
    }
  }
  for (auto& [name, s] : services)
    if (const auto known = options.demands.find(name); known != options.demands.end())
      s.busy = known->second.per_second / known->second.per_gpu;
  return services;
}

/// GPUs for all services; each has its own.
int64_t gpus_for(const std::map<std::string, ServicePool>& services, double throughput, double headroom) {
  int64_t sum = 0;
  for (const auto& [name, s] : services) {
    // What stands on two replicas now does not fall with one later.
    const int64_t needed =
        std::max(gpus_for_demand(s.busy, throughput, headroom), std::min(kLeastReplicas, s.gpus / s.together) * s.together);
    sum += (needed + s.together - 1) / s.together * s.together;
  }
  return sum;
}

bool is_full(const NodeFacts& node, const ResizeNeed& need) {
  const double full = node.memory_total && node.memory_total->count() > 0
                          ? 100 * static_cast<double>(node.memory_peak->count()) / static_cast<double>(node.memory_total->count())
                          : 0;
  // A job that fills its GPU is well placed; a service that does makes requests wait, or fails with the next.
  return answers_requests(node) && (full >= kTooFullPct || need.p95_pct >= kTooFullPct);
}

void add_services(const FleetFacts& facts, RightsizeGroup& g, const RightsizeOptions& options) {
  RightsizeRow& row = g.row;
  g.services = pools_of(facts, g.nodes, options);
  row.service_count = std::ssize(g.services);
  row.need.gpus = 1;
  for (const auto& [name, s] : g.services) {
    row.busy_gpus += s.busy;
    row.service_names.push_back(name);
    row.need.gpus = std::max(row.need.gpus, s.together);
    g.demand_known |= options.demands.contains(name);
  }
  for (const NodeFacts* node : g.nodes)
    for (const GpuLoad& gpu : node->gpus)
      if (gpu.p99_ms) row.p99_ms = std::max(row.p99_ms.value_or(0), *gpu.p99_ms);
  // CPUs follow the GPUs: what one machine needs is decided by how many replicas it gets.
  row.need.vcpus = 0;  // CPUs follow the GPUs (vcpus_per_gpu)
}

}  // namespace

std::optional<RightsizeGroup> rightsize_group(const FleetView& fleet, const NodeGroup& nodes, const RightsizeOptions& options) {
  RightsizeGroup out;
  out.nodes = nodes;
  out.gpu = fleet.prices.catalog().find_gpu(nodes.front()->gpu_model);
  out.hourly = Money::nanos(0, fleet.facts.currency);
  RightsizeRow& row = out.row;
  if (out.gpu == nullptr) return std::nullopt;
  for (const NodeFacts* node : nodes) {
    const auto need = resize_need(*node, fleet.prices.catalog());
    const auto hourly = fleet.books.hourly(node->id);
    if (!need || !hourly) return std::nullopt;
    row.need = node == nodes.front() ? *need : harder_of(row.need, *need);
    out.vcpus_per_gpu = std::max(out.vcpus_per_gpu, static_cast<double>(need->vcpus) / static_cast<double>(need->gpus));
    out.hourly += *hourly;
    row.gpus += node->gpu_count;
    row.too_small |= is_full(*node, *need);
  }
  const NodeFacts& first = *nodes.front();
  const PlanNode& plan = fleet.books.of(first.id);
  row.nodes = names_of(nodes);
  row.provider = plan.provider;
  row.region = plan.region;
  row.instance_type = plan.instance_type;
  row.gpu_model = first.gpu_model;
  row.category = first.category;
  row.monthly = monthly_of(fleet, nodes);
  // Instances of one GPU stay together where they are: such machines are replaced one for one.
  row.services = answers_requests(first) && row.need.instances.empty();
  if (row.services) add_services(fleet.facts, out, options);
  return out;
}

const PriceLookup::Quote* RightsizeTargets::quote_for(const RightsizeGroup& g, const InstanceType& type) const {
  const PlanNode& plan = fleet_.books.of(g.nodes.front()->id);
  if (type.provider != plan.provider || type.gpu_milli == 0) return nullptr;
  const Market market = plan.market == Market::kSpot ? Market::kSpot : Market::kOnDemand;
  return fleet_.prices.find({type.provider, type.name, plan.region}, market);
}

Money RightsizeTargets::saving_with(const RightsizeGroup& g, const InstanceType& type, Money hourly, int64_t count) const {
  if (count <= std::ssize(g.nodes)) {
    const auto saving = fleet_.books.saving_of(ResizeNodes{g.row.nodes, type.name, "", count});
    if (saving.ok()) return *saving;
  }
  // More machines than now: as many hours each as the present ones run.
  double seconds = 0;
  for (const NodeFacts* node : g.nodes)
    seconds += static_cast<double>(fleet_.books.of(node->id).seconds());
  const double hours = seconds / 3600 / static_cast<double>(g.nodes.size()) / fleet_.facts.months.count();
  return g.row.monthly - Money::estimate(hourly.to_double() * hours * static_cast<double>(count), fleet_.facts.currency);
}

namespace {

/// Replicas of several GPUs stay within a machine.
int64_t gpus_per_machine(const RightsizeGroup& g, const InstanceType& type) {
  return type.gpu_milli / 1000 / g.row.need.gpus * g.row.need.gpus;
}

int64_t machines_at_least(const RightsizeGroup& g, const InstanceType& type, double throughput, double headroom) {
  const int64_t each = gpus_per_machine(g, type);
  const int64_t gpus = gpus_for(g.services, throughput, headroom);
  return std::max((gpus + each - 1) / each, std::min(kLeastReplicas, std::ssize(g.nodes)));
}

}  // namespace

bool RightsizeTargets::all_promised(const RightsizeGroup& g) const {
  return std::ranges::all_of(g.row.service_names,
                             [&](const std::string& name) { return fleet_.facts.promises_ms.contains(name); });
}

Result<RightsizeTarget> RightsizeTargets::at_best(const RightsizeGroup& g, const InstanceType& type, Money hourly) const {
  if (auto misfit = resize_misfit(type, g.row.need)) return invalid("{}", *misfit);
  const GpuFacts* gpu = fleet_.prices.catalog().find_gpu(type.gpu_model, type.gpu_memory);
  const auto relative = gpu == nullptr ? std::nullopt : relative_throughput(*gpu, *g.gpu);
  if (!relative) return invalid("its throughput is not known");
  if (auto misfit = slices_misfit(type, g.row.need, relative->low)) return invalid("{}", *misfit);
  RightsizeTarget out{&type, hourly, std::ssize(g.nodes), std::ssize(g.nodes), *relative, {}, {}};
  if (g.row.services) {
    const auto& promised_pct = fleet_.facts.promised_pct;
    const double slowest = promised_pct.value_or(fleet_.facts.unpromised_pct) / 100;
    if (relative->low * slowest < 1 && (promised_pct || !all_promised(g)))
      return invalid("a request could take {:.1f} × as long", 1 / relative->low);
    if (gpus_per_machine(g, type) == 0) return invalid("less than a GPU");
    const double cpus = g.vcpus_per_gpu * static_cast<double>(type.gpu_milli) / 1000;
    if (static_cast<double>(type.vcpus) < cpus) return invalid("{} CPUs, {:.0f} needed", type.vcpus, cpus);
    out.count = machines_at_least(g, type, relative->low, options_.headroom);
    out.count_best = machines_at_least(g, type, relative->high, options_.headroom);
  } else if (gpu->model != g.gpu->model && relative->low * kResizeHeadroom < g.row.need.p95_pct / 100) {
    return invalid("does {:.2f} of a {}, {:.2f} needed", relative->low, g.gpu->model, g.row.need.p95_pct / 100 / kResizeHeadroom);
  }
  out.saving_per_month = saving_with(g, type, hourly, out.count);
  out.saving_best = saving_with(g, type, hourly, out.count_best);
  return out;
}

std::string RightsizeTargets::broken_promise(const RightsizeGroup& g, const InstanceType& type, int64_t count,
                                             SpeedEnd end) const {
  const Change change = ResizeNodes{g.row.nodes, type.name, "", count};
  std::string key = fmt::format("{}\n{}\n{}", type.name, count, fmt::join(g.row.nodes, "\n"));
  auto known = memo_.outlooks.find(key);
  if (known == memo_.outlooks.end()) {
    const std::array<Instant, 2> whole = {fleet_.facts.period.begin, fleet_.facts.period.end};
    const auto outlook = replay_services(change, fleet_.facts, fleet_.prices.catalog(), {.marks = whole, .draws = 1});
    if (!outlook.ok()) return outlook.error().message;
    known = memo_.outlooks.emplace(std::move(key), *outlook).first;
  }
  const ServiceOutlook& o = known->second;
  const bool slow = end == SpeedEnd::kSlow;
  const double p99_pct = slow ? o.p99_pct.mean : o.p99_least_pct;
  const double in_time_pct = slow ? o.in_time_pct.mean : o.in_time_most_pct;
  if (p99_pct > o.bound.pct)
    return p99_pct >= kCannotKeepUpPct ? fmt::format("{} would not keep up", o.worst)
                                       : fmt::format("p99 of {} would be {:.0f} % of what it is now", o.worst, p99_pct);
  return in_time_pct < kServedInTimePct ? fmt::format("{:.1f} % of the requests served in time now still would be", in_time_pct)
                                        : "";
}

Result<int64_t> RightsizeTargets::count_for(const RightsizeGroup& g, const RightsizeTarget& target, int64_t least,
                                            SpeedEnd end) const {
  if (g.demand_known || broken_promise(g, *target.type, least, end).empty()) return least;
  // More machines than now cannot be had in their place, unless the present ones are too small.
  const int64_t now = std::ssize(g.nodes);
  int64_t most = g.row.too_small ? 2 * std::max(now, least) : std::max(now, least);
  if (auto why = broken_promise(g, *target.type, most, end); !why.empty()) return invalid("{}", why);
  int64_t too_few = least;
  while (most - too_few > 1) {
    const int64_t middle = too_few + (most - too_few) / 2;
    (broken_promise(g, *target.type, middle, end).empty() ? most : too_few) = middle;
  }
  return most;
}

Result<RightsizeTarget> RightsizeTargets::replayed(const RightsizeGroup& g, RightsizeTarget target) const {
  if (g.row.services) {
    TRY_ASSIGN(target.count, count_for(g, target, target.count, SpeedEnd::kSlow));
    TRY_ASSIGN(const int64_t quick, count_for(g, target, target.count_best, SpeedEnd::kQuick));
    target.count_best = std::min(quick, target.count);
    if (!g.row.too_small && !g.demand_known && target.count > std::ssize(g.nodes))
      return invalid("{} of it would be needed in place of {}", target.count, g.nodes.size());
  }
  if (target.type->name == g.row.instance_type && target.count == std::ssize(g.nodes)) return invalid("the present one");
  target.saving_per_month = saving_with(g, *target.type, target.hourly, target.count);
  target.saving_best = target.count_best == target.count ? target.saving_per_month
                                                         : saving_with(g, *target.type, target.hourly, target.count_best);
  return target;
}

Result<RightsizeTarget> RightsizeTargets::on(const RightsizeGroup& g, const InstanceType& type) const {
  const auto* quote = quote_for(g, type);
  if (quote == nullptr) return invalid("its price is not known");
  TRY_ASSIGN(const RightsizeTarget target, at_best(g, type, quote->hourly));
  return replayed(g, target);
}

void RightsizeTargets::choose(RightsizeGroup& g) const {
  std::vector<RightsizeTarget> hopes;
  std::vector<std::pair<Money, RightsizeDropped>> dropped;
  const auto drop = [&](const InstanceType& type, Money hourly, std::string why) {
    if (type.name != g.row.instance_type && type.gpu_milli >= g.row.need.gpus * 1000)
      dropped.push_back({hourly, {&type, std::move(why)}});
  };
  for (const InstanceType& type : fleet_.prices.catalog().instances()) {
    const auto* quote = quote_for(g, type);
    if (quote == nullptr) continue;
    if (auto hope = at_best(g, type, quote->hourly); hope.ok())
      hopes.push_back(*hope);
    else
      drop(type, quote->hourly, hope.error().message);
  }
  const auto more_saved = [](const RightsizeTarget& a, const RightsizeTarget& b) {
    return std::tie(b.saving_per_month, a.type->name) < std::tie(a.saving_per_month, b.type->name);
  };
  std::ranges::sort(hopes, more_saved);
  const double least = g.row.monthly.to_double() * options_.least_saving;
  const auto pays = [&](const RightsizeTarget& t) { return g.row.too_small || t.saving_per_month.to_double() >= least; };
  std::vector<RightsizeTarget> fits;
  for (const RightsizeTarget& hope : hopes) {
    // A replay asks for as many machines or more, so no later one saves more than it hopes to.
    if (!pays(hope) || (fits.size() >= 2 && hope.saving_per_month <= fits[1].saving_per_month)) break;
    auto made = replayed(g, hope);
    if (!made.ok()) {
      drop(*hope.type, hope.hourly, made.error().message);
      continue;
    }
    if (pays(*made)) fits.push_back(*made);
    std::ranges::sort(fits, more_saved);
  }
  if (!fits.empty()) g.row.best = fits[0];
  if (fits.size() > 1) g.row.runner_up = fits[1];
  std::ranges::stable_sort(dropped, [](const auto& a, const auto& b) { return a.first < b.first; });
  const Money per_machine = scale(g.hourly, 1, std::ssize(g.nodes));
  const Money limit = g.row.best ? std::min(g.row.best->hourly, per_machine) : per_machine;
  for (auto& [hourly, d] : dropped)
    if (hourly < limit && g.row.dropped.size() < kMostDropped) g.row.dropped.push_back(std::move(d));
}

}  // namespace stint
