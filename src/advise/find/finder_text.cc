#include "advise/find/finder_text.h"

#include <algorithm>

#include "advise/thresholds.h"
#include "base/counted.h"

namespace stint {

std::vector<std::string> names_of(const NodeGroup& group) {
  std::vector<std::string> names;
  for (const NodeFacts* node : group)
    names.push_back(node->name);
  return names;
}

std::string title_of(const NodeGroup& group) {
  if (group.size() == 1) return group.front()->name;
  const std::string& type = group.front()->instance_type;
  return fmt::format("{} × {}", group.size(), type.empty() ? group.front()->gpu_model : type);
}

std::string percent(double value, int decimals) { return fmt::format("{:.{}f} %", value, decimals); }
std::string percent(const std::optional<double>& value, int decimals) { return value ? percent(*value, decimals) : "not known"; }
std::string gibibytes(const std::optional<Bytes>& value) {
  return value ? fmt::format("{:.1f} GiB", value->to_gibi()) : "not known";
}

std::vector<int64_t> instances_in_use(const FleetView& fleet, const NodeGroup& group) {
  std::vector<int64_t> in_use(fleet.facts.hour_count);
  for (const NodeFacts* node : group) {
    const PlanNode& plan = fleet.books.of(node->id);
    for (size_t h = 0; h < in_use.size(); ++h)
      in_use[h] += plan.on_s[h];
  }
  for (int64_t& seconds : in_use)
    seconds /= 3600;
  return in_use;
}

Money monthly_of(const FleetView& fleet, const NodeGroup& group) {
  Money sum = Money::nanos(0, fleet.facts.currency);
  for (const NodeFacts* node : group)
    sum += fleet.books.of(node->id).monthly;
  return sum;
}

std::optional<double> mean_utilization(const NodeGroup& group) {
  double sum = 0;
  double weight = 0;
  for (const NodeFacts* node : group) {
    if (!node->mean_pct) continue;
    double covered = 0;
    for (const GpuLoad& gpu : node->gpus)
      covered += gpu.covered_hours;
    sum += *node->mean_pct * covered;
    weight += covered;
  }
  return weight > 0 ? std::optional(sum / weight) : std::nullopt;
}

bool sees_all_gpus(const NodeFacts& node) {
  return !node.gpus.empty() && static_cast<int64_t>(node.gpus.size()) >= node.gpu_count;
}

double watched_hours(const NodeFacts& node) {
  double hours = 0;
  for (const GpuLoad& gpu : node.gpus)
    hours = std::max(hours, gpu.covered_hours);
  return hours;
}

void propose_commitment(const FleetView& fleet, Finding finding, Proposals& out) {
  const double days = fleet.facts.period.length().to_hours() / 24;
  const double asked = std::max(fleet.commit_on_days, kDaysToCommit);
  if (days < asked) {
    finding.risk = Level::kHigh;
    finding.confidence = Level::kLow;
    finding.caveats.insert(finding.caveats.begin(),
                           fmt::format("rests on {} of use: fewer than {:.0f} do not show whether such use goes on for a year",
                                       counted(static_cast<int64_t>(days), "day"), asked));
  }
  if (days >= fleet.commit_on_days) return out.advised.push_back(std::move(finding));
  finding.remedy =
      fmt::format("{:.0f} days of use: import earlier months and look at them together (--since, --until)", fleet.commit_on_days);
  out.on_few_days.push_back(std::move(finding));
}

Level at_most(Level level, Level limit) { return std::min(level, limit); }

Level confidence_of(const FleetView& fleet, const NodeGroup& group) {
  TelemetryQuality worst = TelemetryQuality::kGood;
  for (const NodeFacts* node : group)
    worst = std::min(worst, node->quality);
  Level level = worst == TelemetryQuality::kGood ? Level::kHigh : worst == TelemetryQuality::kFair ? Level::kMedium : Level::kLow;
  const double days = fleet.facts.period.length().to_hours() / 24;
  if (days < 7) return Level::kLow;
  return days < 14 ? at_most(level, Level::kMedium) : level;
}

void add_use(Finding& finding, const NodeGroup& group) {
  std::optional<double> p95;
  std::optional<Bytes> peak, total;
  double coverage = 100;
  for (const NodeFacts* node : group) {
    if (node->p95_pct) p95 = std::max(p95.value_or(0), *node->p95_pct);
    if (node->memory_peak) peak = std::max(peak.value_or(Bytes()), *node->memory_peak);
    if (node->memory_total) total = std::max(total.value_or(Bytes()), *node->memory_total);
    coverage = std::min(coverage, node->coverage_pct);
  }
  finding.evidence.push_back({"mean utilisation", percent(mean_utilization(group))});
  finding.evidence.push_back({"utilisation p95, busiest node", percent(p95)});
  finding.evidence.push_back({"memory peak, fullest GPU", fmt::format("{} of {}", gibibytes(peak), gibibytes(total))});
  finding.evidence.push_back({"telemetry coverage, worst node", percent(coverage)});
}

std::string cost_line(const FleetView& fleet, const NodeGroup& group) {
  return fmt::format("cost before this change: {}, {}/month", counted(group.size(), "node"), monthly_of(fleet, group).to_text());
}

}  // namespace stint
