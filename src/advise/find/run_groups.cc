#include "advise/find/run_groups.h"

#include <algorithm>
#include <set>

namespace stint {
namespace {

using RunGroupKey = std::tuple<std::string, std::string, WorkloadKind, std::string, std::string>;

void merge_checkpointable(RunGroup& group, const std::optional<bool>& one) {
  if (group.when.size() == 1)
    group.checkpointable = one;
  else if (one == false || group.checkpointable == false)
    group.checkpointable = false;
  else if (!one)
    group.checkpointable.reset();
}

int64_t gpus_on_one(const Run& run, const RunAllocation& allocation) {
  if (allocation.gpu_count > 0) return allocation.gpu_count;
  if (!allocation.gpu_indexes.empty()) return std::ssize(allocation.gpu_indexes);
  return std::max<int64_t>(1, run.gpus_requested / std::ssize(run.allocations));
}

void add_run(RunGroup& group, const Run& run, const NodeFacts& node, Interval when,
             const std::map<std::string, const NodeFacts*>& nodes) {
  if (group.node == nullptr) group.node = &node;
  group.when.push_back(when);
  group.machines = std::max<int64_t>(group.machines, std::ssize(run.allocations));
  for (const RunAllocation& a : run.allocations) {
    group.gpus_per_machine = std::max(group.gpus_per_machine, gpus_on_one(run, a));
    if (nodes.contains(a.node)) group.nodes.push_back(a.node);
  }
  merge_checkpointable(group, run.checkpointable ? run.checkpointable : node.checkpointable);
}

}  // namespace

double RunGroup::mean_hours() const {
  double sum = 0;
  for (const Interval& run : when)
    sum += run.length().to_hours();
  return when.empty() ? 0 : sum / static_cast<double>(when.size());
}

int64_t RunGroup::at_once() const {
  std::vector<std::pair<Instant, int>> events;
  for (const Interval& run : when) {
    events.push_back({run.begin, 1});
    events.push_back({run.end, -1});
  }
  std::sort(events.begin(), events.end());  // an end before a begin at the same instant
  int64_t now = 0;
  int64_t most = 0;
  for (const auto& [at, step] : events) {
    now += step;
    most = std::max(most, now);
  }
  return std::max<int64_t>(1, most);
}

bool is_deferrable(WorkloadKind kind) { return !is_interactive(kind) && kind != WorkloadKind::kUnknown; }

std::vector<RunGroup> run_groups(const History& history, const FleetFacts& facts) {
  std::map<std::string, const NodeFacts*> nodes;
  for (const NodeFacts& node : facts.nodes)
    nodes.emplace(node.name, &node);
  std::map<RunGroupKey, RunGroup> groups;
  std::set<std::string> ran;
  for (const Run& run : history.runs) {
    for (const RunAllocation& a : run.allocations)
      ran.insert(a.node);
    if (!run.started || run.allocations.empty()) continue;
    const Interval when = intersect({*run.started, run.ended.value_or(facts.period.end)}, facts.period);
    const auto node = nodes.find(run.allocations.front().node);
    if (when.empty() || node == nodes.end()) continue;
    const Tenant tenant = merged(run.tenant, tenant_of(run.holder, history.tenant_rules));
    const WorkloadKind kind = run.kind == WorkloadKind::kUnknown ? node->second->kind : run.kind;
    RunGroup& group = groups[{tenant.client, run.name, kind, node->second->provider + '\t' + node->second->region,
                              node->second->instance_type}];
    group.client = tenant.client;
    group.name = run.name;
    group.kind = kind;
    add_run(group, run, *node->second, when, nodes);
  }
  for (const NodeFacts& node : facts.nodes) {
    if (ran.contains(node.name) || node.hours <= 0 || node.gpu_count == 0) continue;
    RunGroup& group =
        groups[{node.client, node.category, node.kind, "-" + node.provider + '\t' + node.region, node.instance_type}];
    group.client = node.client;
    group.name = node.category;
    group.kind = node.kind;
    group.recorded = false;
    if (group.node == nullptr) group.node = &node;
    group.nodes.push_back(node.name);
    group.gpus_per_machine = node.gpu_count;
    group.when.push_back({facts.period.begin, facts.period.begin + Duration::from_seconds(node.hours * 3600)});
    merge_checkpointable(group, node.checkpointable);
  }
  std::vector<RunGroup> out;
  for (auto& [key, group] : groups) {
    std::sort(group.nodes.begin(), group.nodes.end());
    group.nodes.erase(std::unique(group.nodes.begin(), group.nodes.end()), group.nodes.end());
    std::sort(group.when.begin(), group.when.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace stint
