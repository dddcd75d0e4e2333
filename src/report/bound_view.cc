#include "report/bound_view.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "report/audit_sections.h"
#include "report/bar_rows.h"
#include "report/figures.h"
#include "report/json_list.h"
#include "report/statement_text.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostReasons = 6;

bool has_bound(const AuditReport& report) { return report.bound && report.bound->holds; }

std::vector<std::string> what_is_counted() { return {std::string(kBoundCounts), std::string(kBoundLeavesOut)}; }

/// The largest, and one more that stands for the rest.
std::vector<NamedAmount> shown_reasons(const PlanBound& bound) {
  std::vector<NamedAmount> out = bound.reasons;
  if (out.size() <= kMostReasons + 1) return out;
  NamedAmount rest{fmt::format("{} smaller ones", out.size() - kMostReasons), Money::nanos(0, bound.gap.currency())};
  for (size_t i = kMostReasons; i < out.size(); ++i)
    rest.amount += out[i].amount;
  out.resize(kMostReasons);
  out.push_back(std::move(rest));
  return out;
}

}  // namespace

std::string bound_line(const AuditReport& report) {
  if (!report.bound) return {};
  const PlanBound& bound = *report.bound;
  if (!bound.holds)
    return fmt::format(
        "no bound: this plan is {} a month cheaper than what was worked out as the least, so that leaves out a lever",
        (Money::nanos(0, bound.gap.currency()) - bound.gap).to_text());
  return fmt::format("no plan with these levers and prices costs less than {} a month: this one is {} above, {} of it",
                     bound.per_month.to_text(), bound.gap.to_text(),
                     shown_percent(share_pct(bound.gap, report.totals.plan_per_month), 1));
}

std::string bound_text(const AuditReport& report, Screen screen) {
  if (!has_bound(report)) return {};
  std::string out = heading("What no plan can beat", screen) + bullets(what_is_counted(), screen);
  Table table({{"between the bound and the plan", Align::kLeft, 60}, {"a month", Align::kRight}});
  for (const NamedAmount& reason : shown_reasons(*report.bound))
    table.add_row({printable(reason.name), cents_text(reason.amount)});
  return out + (table.empty() ? "" : table.render(screen, 2));
}

Json bound_per_month(const AuditReport& report) {
  return has_bound(report) ? Json(report.bound->per_month.to_double()) : Json(nullptr);
}

Json bound_json(const AuditReport& report) {
  if (!has_bound(report)) return nullptr;
  const PlanBound& bound = *report.bound;
  return {{"per_month", bound.per_month.to_double()},
          {"gap_per_month", bound.gap.to_double()},
          {"gap_pct", share_pct(bound.gap, report.totals.plan_per_month)},
          {"reasons",
           array_of(bound.reasons,
                    [](const NamedAmount& r) { return Json{{"what", printable(r.name)}, {"per_month", r.amount.to_double()}}; })},
          {"counted", kBoundCounts},
          {"not_counted", kBoundLeavesOut}};
}

Html bound_waterfall(const AuditReport& report) {
  if (!has_bound(report) || report.totals.plan_per_month.count_nanos() <= 0) return {};
  const AmountText amount(report);
  const Money plan = report.totals.plan_per_month;
  const double whole = plan.to_double();
  std::vector<BarRow> rows = {{"Plan", {{0, 1, "after", plan.to_text()}}, amount(plan)}};
  Money left = plan;
  for (const NamedAmount& reason : shown_reasons(*report.bound)) {
    const Money before = left;
    left -= reason.amount;
    rows.push_back(
        {reason.name,
         {{left.to_double() / whole, before.to_double() / whole, "gap", reason.amount.to_text(), 1, BarFill::kNarrowStripes}},
         amount.minus(reason.amount)});
  }
  std::vector<std::string> lines = what_is_counted();
  lines.insert(lines.begin(), bound_line(report));
  rows.push_back({"No plan costs less", {{0, std::max(0.0, left.to_double() / whole), "whole", left.to_text()}}, amount(left)});
  return element("h3", "From the plan to what no plan can beat") +
         bar_rows(rows, "From the plan to what no plan can beat, by what the bound leaves out") + bullet_list(lines);
}

}  // namespace stint
