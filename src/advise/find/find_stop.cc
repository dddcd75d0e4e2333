// Stop: machines on which nothing runs. Missing telemetry is never idleness.
#include "advise/find/finder_text.h"

#include "advise/thresholds.h"

namespace stint {
namespace {

constexpr size_t kRecentHours = 24;

bool is_there_at_the_end(const NodeFacts& node) {
  const size_t n = node.timeline.size();
  for (size_t h = n > kRecentHours ? n - kRecentHours : 0; h < n; ++h)
    if (node.timeline[h].on_s > 0) return true;
  return false;
}

bool is_idle(const NodeFacts& node) {
  const bool enough = node.quality >= TelemetryQuality::kGood && sees_all_gpus(node) && watched_hours(node) >= kShortestHours;
  return enough && node.idle_pct.value_or(0) >= kIdlePct && node.host_cpu_pct.value_or(0) < kHostBusyPct &&
         is_there_at_the_end(node);
}

Finding finding_for(const FleetView& fleet, const NodeGroup& group, bool held) {
  Finding f;
  f.change = StopNodes{names_of(group)};
  f.title = fmt::format("Stop {}: idle all the time", title_of(group));
  f.confidence = confidence_of(fleet, group);
  f.risk = Level::kLow;
  f.effort = Level::kLow;
  add_use(f, group);
  double idle = 100;
  for (const NodeFacts* node : group)
    idle = std::min(idle, node->idle_pct.value_or(0));
  f.evidence.push_back({"samples without activity", percent(idle, 2) + " or more"});
  f.arithmetic.push_back(cost_line(fleet, group));
  f.arithmetic.push_back(fmt::format("cost after: 0; saving {}/month", monthly_of(fleet, group).to_text()));
  if (held) {
    f.confidence = at_most(f.confidence, Level::kMedium);
    f.risk = Level::kMedium;
    f.caveats.push_back("these machines are held, though nothing runs: ask before stopping (last holder: " +
                        (group.front()->workload.empty() ? "not named" : group.front()->workload) + ")");
  }
  f.caveats.push_back("local disks are lost when a machine is given back: copy what is needed first");
  return f;
}

}  // namespace

Proposals find_stop(const FleetView& fleet) {
  NodeGroups idle, held, services;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    if (plan.gone || plan.structure_changed || plan.monthly.count_nanos() <= 0 || !is_idle(node)) continue;
    const std::string key = node.provider + '\t' + node.region + '\t' + node.instance_type;
    const bool is_service = node.named_holder && node.kind == WorkloadKind::kRealtimeInference;
    (is_service ? services : node.named_holder ? held : idle)[key].push_back(&node);
  }
  Proposals out;
  for (const auto& [key, group] : idle)
    out.advised.push_back(finding_for(fleet, group, false));
  for (const auto& [key, group] : held)
    out.advised.push_back(finding_for(fleet, group, true));
  for (const auto& [key, group] : services) {
    Finding f = finding_for(fleet, group, true);
    f.alone_per_month = monthly_of(fleet, group);
    f.caveats.insert(f.caveats.begin(),
                     "a service is deployed here that received no requests: only its owner can say that it may go");
    out.rejected.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
