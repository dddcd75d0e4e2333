#include "advise/plan/plan_notes.h"

#include <algorithm>
#include <set>

#include "advise/find/finder_text.h"
#include "base/counted.h"

namespace stint {
namespace {

constexpr size_t kNamesShown = 5;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kNamesShown ? fmt::format("{} and {} more", text, names.size() - kNamesShown) : text;
}

void note_telemetry(std::vector<std::string>& notes, const FleetFacts& facts) {
  std::vector<std::string> blind, thin, larger;
  Money blind_money = Money::nanos(0, facts.currency);
  bool blind_priced = true;
  for (const NodeFacts& node : facts.nodes) {
    if (node.quality == TelemetryQuality::kNone) {
      blind.push_back(node.name);
      blind_money += node.compute;
      blind_priced = blind_priced && node.priced;
    } else if (node.quality == TelemetryQuality::kPoor) {
      thin.push_back(fmt::format("{} ({:.0f} %)", node.name, node.coverage_pct));
    }
    const bool full = node.memory_p95 && node.memory_total && node.memory_p95->to_gibi() > 0.95 * node.memory_total->to_gibi();
    if (node.mean_pct.value_or(0) > 90 || (full && node.mean_pct)) larger.push_back(node.name);
  }
  if (!blind.empty())
    notes.push_back(
        fmt::format("no telemetry: {}, {}. They may be idle or busy: nothing is advised on their use. Import nvidia-smi, DCGM or "
                    "Prometheus data for them",
                    listed(blind), blind_priced ? facts.months.monthly(blind_money).to_text() + "/month" : "cost not known"));
  if (!thin.empty())
    notes.push_back("telemetry covers less than half of the hours: " + listed(thin) +
                    ". No advice rests on it; repair the exporters");
  if (!larger.empty())
    notes.push_back("at capacity (mean above 90 % or memory above 95 %): " + listed(larger) +
                    ". A larger GPU, or more of them, would cost more and is not in the plan");
  if (facts.period.length() < kHour * (14 * 24))
    notes.push_back(
        fmt::format("the period is {:.1f} days: weekly patterns and idle machines need 14 days or more; import a longer period",
                    facts.period.length().to_hours() / 24));
}

void note_prices(std::vector<std::string>& notes, const NoteInput& input) {
  std::set<std::string> stale;
  for (const auto& [row, doubt, old] : input.prices)
    if (old)
      stale.insert(fmt::format("{} {} {} ({})", row.instance_type, row.region, name_of(row.market), format_date(row.as_of)));
  if (!stale.empty())
    notes.push_back(fmt::format("{} older than {:.0f} days: {}. Take current ones with `stint catalog refresh`",
                                stale.size() == 1 ? "1 price used is" : fmt::format("{} prices used are", stale.size()),
                                kPriceStaleAfter.to_hours() / 24, listed({stale.begin(), stale.end()})));
}

void note_contradictions(std::vector<std::string>& notes, const FleetFacts& facts) {
  std::vector<std::string> said;
  for (const BillContradiction& c : facts.contradictions)
    said.push_back(fmt::format("{} ({}: {} in the inventory, {} on the bill{})", c.node, c.what, c.inventory, c.bill,
                               c.bill_hours_pct > 99.5 ? "" : fmt::format(" in {} of its hours", percent(c.bill_hours_pct))));
  if (!said.empty())
    notes.push_back("inventory and bill contradict each other, and the bill counts: " + listed(said) +
                    ". Correct the inventory; --json lists all under contradictions");
}

/// The reason of a rejected finding without what is particular to it, so that like ones are told once.
std::string reason_of(const Finding& f) { return f.caveats.empty() ? "no saving" : f.caveats.front(); }

}  // namespace

std::vector<std::string> notes_for(const NoteInput& input) {
  std::vector<std::string> notes;
  note_telemetry(notes, input.facts);
  if (input.attribution.unattributed_pct >= 1)
    notes.push_back(
        fmt::format("{:.1f} % of the active GPU-hours have no owner: import job records or tenant rules to say whose they are",
                    input.attribution.unattributed_pct));
  note_prices(notes, input);
  note_contradictions(notes, input.facts);
  if (!input.facts.months.whole_months())
    notes.push_back(
        fmt::format("the period is no whole number of calendar months: figures per month are the period's scaled to {} hours",
                    kHoursPerMonth));
  notes.insert(notes.end(), input.ledger.problems.begin(), input.ledger.problems.end());
  return notes;
}

std::string bill_alone_note(const FleetFacts& facts) {
  std::vector<std::string> always_on;
  Money cost = Money::nanos(0, facts.currency);
  for (const NodeFacts& node : facts.nodes) {
    if (node.hours < 0.99 * facts.period.length().to_hours()) continue;
    always_on.push_back(node.name);
    cost += node.compute;
  }
  const std::string known =
      fmt::format("the bill alone names {}", counted(facts.nodes.size(), "machine with GPUs", "machines with GPUs"));
  if (always_on.empty()) return known + ": none is charged in every hour. Import telemetry to say whether they were used";
  return fmt::format(
      "{}; charged in every hour, nights and weekends too: {}, {}/month. Look for idle ones there first: import telemetry", known,
      listed(always_on), facts.months.monthly(cost).to_text());
}

std::optional<std::string> holder_note(const std::vector<HolderAudit>& holders) {
  double hours = 0;
  double idle = 0;
  double used = 0;
  double memory = 0;
  for (const HolderAudit& h : holders) {
    hours += h.gpu_hours;
    idle += h.idle_pct.value_or(0) * h.gpu_hours;
    used += h.mean_utilization_pct.value_or(0) * h.gpu_hours;
    memory += static_cast<double>(h.memory_mean.value_or(Bytes()).count()) * h.gpu_hours;
  }
  if (hours <= 0 || idle / hours < 50 || memory / hours < 1e9) return std::nullopt;
  return fmt::format(
      "{} pods, containers or jobs hold {:.1f} GB of GPU memory each on average while {:.0f} % of their samples are idle (mean "
      "utilisation "
      "{:.1f} %): memory in use is no sign of work. Share GPUs among them, or scale them with their load",
      holders.size(), memory / hours / 1e9, idle / hours, used / hours);
}

std::vector<std::string> out_of_reach_for(const AuditReport& report, const Books& plan) {
  std::vector<std::string> out;
  for (const Finding& f : report.rejected)
    out.push_back(fmt::format(
        "{}{}: {}", f.title,
        f.alone_per_month.count_nanos() > 0 ? fmt::format(" (would be worth {}/month)", f.alone_per_month.to_text()) : "",
        reason_of(f)));
  const Money compute = plan.total();
  Money untied = Money::nanos(0, compute.currency());
  for (const NamedAmount& category : report.categories)
    if (category.name == "compute of unknown machines") untied += category.amount;
  if (untied.count_nanos() > 0)
    out.push_back(
        fmt::format("{}/month of compute is on lines of the bill that name no machine known here: import an inventory with the "
                    "resource_id that the bill writes, and telemetry, to say whether it is used",
                    untied.to_text()));
  const Money other = report.totals.plan_per_month - compute - untied;
  if (other.count_nanos() > 0)
    out.push_back(
        fmt::format("{}/month of storage, transfer, support and other charges: no finding here changes them", other.to_text()));
  Money running = Money::nanos(0, compute.currency());
  size_t busy = 0;
  for (const NodeFacts& node : plan.facts().nodes)
    if (node.mean_pct.value_or(0) >= kLowUtilizationPct && !plan.of(node.id).gone) {
      running += plan.of(node.id).monthly;
      ++busy;
    }
  if (busy > 0)
    out.push_back(
        fmt::format("{}/month runs on {} used for half of the time or more: only cheaper capacity or less work lowers it",
                    running.to_text(), counted(busy, "node that is", "nodes that are")));
  return out;
}

}  // namespace stint
