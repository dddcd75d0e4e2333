// Schedule off: hours of the week in which a machine is on and never works.
#include "advise/find/finder_text.h"
#include "advise/find/idle_windows.h"
#include "advise/thresholds.h"
#include "base/counted.h"

namespace stint {
namespace {

constexpr size_t kShortestRun = 4;        // hours: starting and stopping costs time
constexpr size_t kShortestRunOfJobs = 8;  // jobs follow no calendar: shorter gaps are chance
constexpr int kSureWeeks = 8;
constexpr double kKeptByCommonHours = 0.75;

/// Only runs of at least `shortest` hours; the week is a circle.
WeekHours long_runs(const WeekHours& hours, size_t shortest) {
  if (hours.all()) return hours;
  size_t start = 0;
  while (hours[start])
    ++start;  // a busy hour, so that no run is cut in two
  WeekHours kept;
  size_t run = 0;
  for (size_t i = 1; i <= kWeek; ++i) {
    const size_t slot = (start + i) % kWeek;
    if (hours[slot]) {
      ++run;
      continue;
    }
    if (run >= shortest)
      for (size_t back = 1; back <= run; ++back)
        kept.set((slot + kWeek - back) % kWeek);
    run = 0;
  }
  return kept;
}

bool runs_jobs(WorkloadKind kind) {
  return kind == WorkloadKind::kTraining || kind == WorkloadKind::kFineTuning || kind == WorkloadKind::kEvaluation ||
         kind == WorkloadKind::kUnknown;
}

WeekHours off_hours(const FleetView& fleet, const NodeFacts& node) {
  return long_runs(idle_hours(node, fleet.facts.first_hour), runs_jobs(node.kind) ? kShortestRunOfJobs : kShortestRun);
}

Finding finding_for(const FleetView& fleet, const NodeGroup& group, const WeekHours& off) {
  Finding f;
  f.change = ScheduleOff{names_of(group), off};
  f.title = fmt::format("Switch {} off for {} a week", title_of(group), counted(off.count(), "idle hour"));
  f.confidence = confidence_of(fleet, group);
  f.risk = Level::kLow;
  f.effort = Level::kLow;
  add_use(f, group);
  f.evidence.push_back({"idle hours (UTC)", week_text(off)});
  int64_t before = 0;
  int64_t after = 0;
  for (const NodeFacts* node : group) {
    const PlanNode& plan = fleet.books.of(node->id);
    before += plan.seconds();
    for (size_t h = 0; h < plan.on_s.size(); ++h)
      if (!off[hour_of_week(fleet.facts.first_hour + static_cast<int64_t>(h))]) after += plan.on_s[h];
  }
  f.arithmetic.push_back(cost_line(fleet, group));
  f.arithmetic.push_back(
      fmt::format("hours in the period: {:.0f} on now, {:.0f} outside the idle hours: {} less",
                  static_cast<double>(before) / 3600, static_cast<double>(after) / 3600,
                  percent(before == 0 ? 0 : 100.0 * static_cast<double>(before - after) / static_cast<double>(before))));
  const int weeks = static_cast<int>(fleet.facts.hour_count / kWeek);
  if (weeks < kSureWeeks) {
    f.confidence = at_most(f.confidence, Level::kMedium);
    f.caveats.push_back(
        fmt::format("idle at these hours in all of {}: a longer period would tell habit from chance", counted(weeks, "week")));
  }
  if (runs_jobs(group.front()->kind))
    f.caveats.push_back(
        "a job that is submitted at these hours waits; a scheduler that stops idle machines (Slurm: SuspendTime) does it without "
        "fixed hours");
  if (group.front()->kind == WorkloadKind::kUnknown) {
    f.confidence = at_most(f.confidence, Level::kMedium);
    f.caveats.push_back("the kind of work is not known: if something must answer at these hours, leave the machines on");
  }
  if (group.front()->kind == WorkloadKind::kNotebook) {
    f.risk = Level::kMedium;
    f.caveats.push_back(
        "notebooks lose what is in memory when their machine stops: tell people the hours, and let them start it by hand");
  }
  f.caveats.push_back(
      "disks and addresses are charged while a machine is stopped; the hours are UTC and follow no daylight saving");
  return f;
}

/// Machines of one pool whose idle hours are nearly the same go by their common hours; others each by their own.
void advise(const FleetView& fleet, const NodeGroup& pool, Proposals& out) {
  WeekHours common;
  common.set();
  size_t sum = 0;
  for (const NodeFacts* node : pool) {
    const WeekHours own = off_hours(fleet, *node);
    common &= own;
    sum += own.count();
  }
  if (static_cast<double>(common.count() * pool.size()) >= kKeptByCommonHours * static_cast<double>(sum)) {
    out.advised.push_back(finding_for(fleet, pool, common));
    return;
  }
  for (const NodeFacts* node : pool)
    out.advised.push_back(finding_for(fleet, {node}, off_hours(fleet, *node)));
}

}  // namespace

Proposals find_schedule(const FleetView& fleet) {
  NodeGroups pools;
  std::map<std::string, NodeGroup> services;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    if (plan.gone || plan.monthly.count_nanos() <= 0 || node.quality < TelemetryQuality::kFair || !sees_all_gpus(node)) continue;
    const WeekHours off = off_hours(fleet, node);
    if (off.none() || off.all()) continue;  // idle all the time is find_stop's
    if (node.kind == WorkloadKind::kRealtimeInference)
      services[off.to_string()].push_back(&node);
    else
      pools[node.provider + '\t' + node.region + '\t' + node.instance_type + '\t' + std::string(name_of(node.kind))].push_back(
          &node);
  }
  Proposals out;
  for (const auto& [key, pool] : pools)
    advise(fleet, pool, out);
  for (const auto& [mask, group] : services) {
    Finding f = finding_for(fleet, group, WeekHours(mask));
    if (const auto saving = fleet.books.saving_of(f.change); saving.ok()) f.alone_per_month = *saving;
    f.caveats.insert(f.caveats.begin(),
                     "a real-time service must answer whenever it is called, though no request came in these hours");
    out.rejected.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
