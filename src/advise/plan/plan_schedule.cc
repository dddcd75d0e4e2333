#include "advise/plan/plan_schedule.h"

#include <algorithm>
#include <limits>

#include "advise/find/finder_text.h"
#include "advise/find/idle_windows.h"
#include "advise/plan/later_runs.h"
#include "advise/thresholds.h"

namespace stint {
namespace {

constexpr double kWeeksPerMonth = 8760.0 / 12 / static_cast<double>(kWeek);

bool can_be_off(const FleetView& fleet, const NodeFacts& node) {
  const PlanNode& plan = fleet.books.of(node.id);
  return !plan.gone && !is_paid_while_off(node.market) && plan.monthly.count_nanos() > 0 &&
         node.quality >= TelemetryQuality::kFair && sees_all_gpus(node);
}

/// The windows that pay for one machine.
WeekHours windows_of(const FleetView& fleet, const NodeFacts& node, const SchedulePlanOptions& options) {
  const WeekHours idle = idle_hours(node, fleet.facts.first_hour);
  if (idle.none() || idle.all()) return {};  // idle all the time is the audit's to stop
  std::vector<double> on(kWeek, 0);
  std::vector<int> seen(kWeek, 0);
  for (size_t h = 0; h < node.timeline.size(); ++h) {
    const size_t slot = hour_of_week(fleet.facts.first_hour + static_cast<int64_t>(h));
    on[slot] += node.timeline[h].on_s / 3600.0;
    ++seen[slot];
  }
  std::vector<double> gain(kWeek);
  for (size_t slot = 0; slot < kWeek; ++slot)
    gain[slot] = idle[slot] ? on[slot] / std::max(1, seen[slot]) : -std::numeric_limits<double>::infinity();
  const std::vector<bool> best = best_off_windows(gain, options.restart_h);
  WeekHours off;
  for (size_t slot = 0; slot < kWeek; ++slot)
    off[slot] = best[slot];
  return off;
}

std::vector<OffWindows> off_windows(const FleetView& fleet, const SchedulePlanOptions& options) {
  std::map<std::string, NodeGroup> groups;
  std::map<std::string, WeekHours> hours;
  for (const NodeFacts& node : fleet.facts.nodes) {
    // A service must answer whenever it is called.
    if (!can_be_off(fleet, node) || node.kind == WorkloadKind::kRealtimeInference) continue;
    const WeekHours off = windows_of(fleet, node, options);
    if (off.none()) continue;
    const std::string key =
        fmt::format("{}\t{}\t{}\t{}\t{}", node.provider, node.region, node.instance_type, name_of(node.kind), off.to_string());
    groups[key].push_back(&node);
    hours[key] = off;
  }
  std::vector<OffWindows> out;
  for (const auto& [key, group] : groups) {
    const WeekHours off = hours[key];
    const auto saving = fleet.books.saving_of(ScheduleOff{names_of(group), off});
    if (!saving.ok()) continue;
    OffWindows w{names_of(group), group.front()->instance_type, group.front()->kind, off, window_count(off), *saving, {}};
    double hourly = 0;
    for (const NodeFacts* node : group)
      hourly += fleet.books.hourly(node->id).value_or(Money::nanos(0, fleet.facts.currency)).to_double();
    w.restarts_per_month =
        Money::estimate(hourly * options.restart_h * static_cast<double>(w.windows) * kWeeksPerMonth, fleet.facts.currency);
    w.saving_per_month -= w.restarts_per_month;
    if (w.saving_per_month.count_nanos() > 0) out.push_back(std::move(w));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const OffWindows& a, const OffWindows& b) { return a.saving_per_month > b.saving_per_month; });
  return out;
}

std::vector<PricedFinding> priced(const FleetView& fleet, std::vector<Finding> findings, Money once) {
  std::vector<PricedFinding> out;
  for (Finding& f : findings) {
    const auto saving = fleet.books.saving_of(f.change);
    if (!saving.ok() || saving->count_nanos() <= 0) continue;
    PricedFinding p{std::move(f), *saving, once, std::nullopt};
    if (once.count_nanos() > 0) p.pays_after_months = once.to_double() / saving->to_double();
    out.push_back(std::move(p));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const PricedFinding& a, const PricedFinding& b) { return a.saving_per_month > b.saving_per_month; });
  return out;
}

/// The finders see only work that no person waits for: people would notice the way.
Proposals regions_for_deferrable(const FleetView& fleet) {
  FleetFacts facts = fleet.facts;
  std::erase_if(facts.nodes, [](const NodeFacts& node) { return !is_deferrable(node.kind); });
  Proposals found = find_region({facts, fleet.books, fleet.prices, fleet.history, fleet.allowed_regions});
  // The audit leaves moves out for want of the price of the way, which is known here.
  if (!fleet.allowed_regions.empty()) {
    for (Finding& f : found.rejected)
      f.caveats.clear();
    std::swap(found.advised, found.rejected);
  }
  return found;
}

Status check(const SchedulePlanOptions& o, Currency currency) {
  if (!(o.restart_h >= 0 && o.restart_h <= 24)) return invalid("{} h to start a machine: expected 0 to 24", o.restart_h);
  if (o.slack < Duration() || o.slack > kHour * 24 * 31)
    return invalid("a slack of {:.0f} h: expected 0 to 744", o.slack.to_hours());
  if (!(o.off_peak_discount >= 0 && o.off_peak_discount <= 1))
    return invalid("an off-peak discount of {}: expected 0 to 1", o.off_peak_discount);
  if (!(o.data_gb >= 0 && o.data_gb <= 1e9)) return invalid("{} GB to move: expected 0 to 10⁹", o.data_gb);
  if (o.transfer_per_gb.count_nanos() < 0) return invalid("a transfer price below 0");
  if (o.transfer_per_gb.count_nanos() > 0 && o.transfer_per_gb.currency() != currency)
    return invalid("transfer is priced in {}, the bill in {}", o.transfer_per_gb.currency().code(), currency.code());
  return {};
}

}  // namespace

Result<SchedulePlan> plan_schedule(const FleetView& fleet, const SchedulePlanOptions& options) {
  TRY(check(options, fleet.facts.currency));
  SchedulePlan plan;
  const Money none = Money::nanos(0, fleet.facts.currency);
  const Money once = Money::estimate(options.data_gb * options.transfer_per_gb.to_double(), fleet.facts.currency);
  plan.windows = off_windows(fleet, options);
  plan.later = later_runs(fleet, options);
  plan.shorter = priced(fleet, find_limit(fleet).advised, none);
  plan.off_gpu = priced(fleet, find_offgpu(fleet).advised, none);
  Proposals regions = regions_for_deferrable(fleet);
  plan.elsewhere = priced(fleet, std::move(regions.advised), once);
  const size_t closed = priced(fleet, std::move(regions.rejected), once).size();
  if (closed > 0)
    plan.notes.push_back(
        fmt::format("{} groups would cost less in another region: name the regions the data may be in "
                    "(--allow-region) to have moves planned",
                    closed));
  if (!plan.elsewhere.empty() && once.is_zero())
    plan.notes.push_back("moving the data is not in the figures of other regions: give --data-gb");
  if (options.off_peak.none())
    plan.notes.push_back(
        "every hour costs the same here (--off-peak names a tariff): later pays only on machines that are paid for anyway");
  return plan;
}

}  // namespace stint
