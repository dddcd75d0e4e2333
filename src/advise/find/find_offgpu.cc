// GPU nodes without GPU work: their CPUs are busy and their GPUs are not.
#include "advise/find/finder_text.h"

#include "advise/thresholds.h"

namespace stint {
namespace {

bool works_without_gpu(const NodeFacts& node) {
  return node.quality >= TelemetryQuality::kGood && sees_all_gpus(node) && watched_hours(node) >= kShortestHours &&
         node.idle_pct.value_or(0) >= kIdlePct && node.host_cpu_pct.value_or(0) >= kHostBusyPct;
}

/// The cheapest type without GPUs that has the CPUs now in use, and a quarter more. nullptr when there is none.
const InstanceType* cpu_type_for(const FleetView& fleet, const NodeFacts& node, const PlanNode& plan) {
  const double cpus = static_cast<double>(node.vcpus) * node.host_cpu_pct.value_or(100) / 100 * 1.25;
  const InstanceType* best = nullptr;
  Money best_price;
  for (const InstanceType& type : fleet.prices.catalog().instances()) {
    if (type.provider != plan.provider || type.gpu_milli != 0 || static_cast<double>(type.vcpus) < cpus) continue;
    const auto* quote = fleet.prices.find({type.provider, type.name, plan.region}, Market::kOnDemand);
    if (quote == nullptr || (best != nullptr && quote->hourly >= best_price)) continue;
    best = &type;
    best_price = quote->hourly;
  }
  return best;
}

}  // namespace

Proposals find_offgpu(const FleetView& fleet) {
  std::map<std::pair<std::string, std::string>, NodeGroup> groups;  // by pool and target
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    if (plan.gone || plan.structure_changed || plan.monthly.count_nanos() <= 0 || !works_without_gpu(node)) continue;
    const InstanceType* to = cpu_type_for(fleet, node, plan);
    groups[{node.provider + '\t' + plan.region + '\t' + node.instance_type, to == nullptr ? "" : to->name}].push_back(&node);
  }
  Proposals out;
  for (const auto& [key, group] : groups) {
    Finding f;
    f.change = MoveOffGpu{names_of(group), key.second};
    f.title = fmt::format("Move the CPU work of {} off GPU machines", title_of(group));
    f.confidence = confidence_of(fleet, group);
    f.risk = Level::kLow;
    f.effort = Level::kMedium;
    add_use(f, group);
    f.evidence.push_back({"host CPU, mean", percent(group.front()->host_cpu_pct)});
    f.arithmetic.push_back(cost_line(fleet, group));
    if (key.second.empty()) {
      f.alone_per_month = monthly_of(fleet, group);
      f.caveats.push_back("no CPU type that is large enough has a price in the catalogue: import one with `stint import prices`");
      out.rejected.push_back(std::move(f));
      continue;
    }
    f.caveats.push_back(
        "CPUs are those used on average with a quarter to spare; memory and network needs of the work are not known");
    out.advised.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
