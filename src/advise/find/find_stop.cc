// Stop: machines on which nothing runs, or nothing has run for long. Missing telemetry is never idleness.
#include "advise/find/finder_text.h"
#include "advise/find/idle_windows.h"
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

/// Like idle_since, of a machine whose telemetry and CPUs leave no doubt.
std::optional<size_t> abandoned_since(const NodeFacts& node) {
  const bool seen = node.quality >= TelemetryQuality::kGood && sees_all_gpus(node);
  return seen && node.host_cpu_pct.value_or(0) < kHostBusyPct ? idle_since(node) : std::nullopt;
}

Finding finding_since(const FleetView& fleet, const NodeFacts& node, size_t since) {
  const NodeGroup group = {&node};
  const Instant when = Instant::from_hour_index(fleet.facts.first_hour + static_cast<int64_t>(since));
  double idle_s = 0;
  bool held = false;
  for (size_t h = since; h < node.timeline.size(); ++h) {
    idle_s += node.timeline[h].on_s;
    held |= node.timeline[h].reserved;
  }
  Finding f;
  f.change = StopNodes{{node.name}};
  f.title = fmt::format("Stop {}: idle since {}", node.name, format_date(when));
  f.confidence = at_most(confidence_of(fleet, group), Level::kMedium);
  f.risk = Level::kMedium;
  f.effort = Level::kLow;
  add_use(f, group);
  f.evidence.push_back({"idle since", fmt::format("{}, {:.0f} machine-hours", format_utc(when), idle_s / 3600)});
  f.arithmetic.push_back(cost_line(fleet, group));
  f.arithmetic.push_back(fmt::format("cost after: 0; saving {}/month from now on", monthly_of(fleet, group).to_text()));
  f.caveats.push_back(fmt::format("work that ran here until {} is taken to be over: if it comes back it needs a machine again",
                                  format_date(when)));
  if (held)
    f.caveats.push_back("a run holds this machine, though nothing runs: ask before stopping (last holder: " +
                        (node.workload.empty() ? "not named" : node.workload) + ")");
  f.caveats.push_back("local disks are lost when a machine is given back: copy what is needed first");
  return f;
}

}  // namespace

Proposals find_stop(const FleetView& fleet) {
  NodeGroups idle, held, services;
  Proposals out;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    if (plan.gone || plan.structure_changed || plan.monthly.count_nanos() <= 0) continue;
    const bool is_service = node.named_holder && node.kind == WorkloadKind::kRealtimeInference;
    if (!is_idle(node)) {
      // A service without requests today may be asked tomorrow: only one that never was is brought up.
      if (const auto since = abandoned_since(node); since && node.kind != WorkloadKind::kRealtimeInference)
        out.advised.push_back(finding_since(fleet, node, *since));
      continue;
    }
    const std::string key = node.provider + '\t' + node.region + '\t' + node.instance_type;
    (is_service ? services : node.named_holder ? held : idle)[key].push_back(&node);
  }
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
