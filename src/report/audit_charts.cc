#include "report/audit_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/counted.h"
#include "report/bar_rows.h"
#include "report/figures.h"

namespace stint {
namespace {

constexpr size_t kMostBars = 20;
constexpr size_t kMostHeatRows = 60;
constexpr size_t kHoursOfWeek = 168;

/// The first kMostBars, and one more row that stands for the rest.
std::vector<ClientSpend> with_the_rest_summed(const std::vector<ClientSpend>& clients, const std::vector<SpendPart>& parts) {
  if (clients.size() <= kMostBars + 1) return clients;
  std::vector<ClientSpend> out(clients.begin(), clients.begin() + kMostBars);
  ClientSpend rest{};
  rest.client = fmt::format("{} smaller clients", clients.size() - kMostBars);
  const Money zero = Money::nanos(0, clients.front().total.currency());
  for (Money* m : {&rest.total, &rest.training, &rest.inference, &rest.evaluation, &rest.other_compute, &rest.storage,
                   &rest.transfer, &rest.shared})
    *m = zero;
  for (size_t i = kMostBars; i < clients.size(); ++i) {
    rest.total += clients[i].total;
    for (const SpendPart& part : parts)
      rest.*part.amount += clients[i].*part.amount;
  }
  out.push_back(std::move(rest));
  return out;
}

/// Nodes alike, when there are too many to show one by one: largest groups first, ties by name.
std::vector<HeatRow> heat_by_group(const AuditReport& report) {
  struct Sum {
    std::array<double, kHoursOfWeek> value{};
    std::array<int, kHoursOfWeek> seen{};
    size_t nodes = 0;
  };
  std::map<std::string, std::string> group_of;
  for (const NodeAudit& n : report.nodes)
    group_of[n.name] = n.category + ", " + (n.instance_type.empty() ? n.gpu_model : n.instance_type);
  std::map<std::string, Sum> sums;
  for (const HeatRow& row : report.heat) {
    Sum& sum = sums[group_of[row.node]];
    ++sum.nodes;
    for (size_t h = 0; h < std::min(row.hours.size(), kHoursOfWeek); ++h) {
      if (row.hours[h] < 0) continue;
      sum.value[h] += static_cast<double>(row.hours[h]);
      ++sum.seen[h];
    }
  }
  std::vector<std::pair<std::string, Sum>> groups(sums.begin(), sums.end());
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.second.nodes > b.second.nodes; });
  groups.resize(std::min(groups.size(), kMostHeatRows));
  std::vector<HeatRow> rows;
  for (const auto& [name, sum] : groups) {
    HeatRow row{fmt::format("{}: {}", counted(sum.nodes, "node"), name), std::vector<float>(kHoursOfWeek, -1.0F)};
    for (size_t h = 0; h < kHoursOfWeek; ++h)
      if (sum.seen[h] > 0) row.hours[h] = static_cast<float>(sum.value[h] / sum.seen[h]);
    rows.push_back(std::move(row));
  }
  return rows;
}

double opacity_of(int level) { return 0.05 + 0.095 * level; }

/// Neighbouring hours of the same tenth become one part, so that a fleet stays a small file.
BarRow heat_bar(const HeatRow& row) {
  const auto level_of = [&](size_t h) {
    return row.hours[h] < 0 ? -1 : std::clamp(static_cast<int>(std::lround(row.hours[h] / 10)), 0, 10);
  };
  BarRow bar{row.node, {}, "–"};
  const auto count = static_cast<double>(row.hours.size());
  double sum = 0;
  int seen = 0;
  for (size_t h = 0; h < row.hours.size();) {
    size_t end = h;
    for (; end < row.hours.size() && level_of(end) == level_of(h); ++end) {
      if (row.hours[end] < 0) continue;
      sum += static_cast<double>(row.hours[end]);
      ++seen;
    }
    const bool known = level_of(h) >= 0;
    bar.parts.push_back({static_cast<double>(h) / count, static_cast<double>(end) / count, known ? "heat" : "none", "",
                         known ? opacity_of(level_of(h)) : 1});
    h = end;
  }
  if (seen > 0) bar.figure = shown_percent(sum / seen);
  return bar;
}

Html days_of_week() {
  Html out;
  for (const std::string_view day : {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"})
    out += element("span", day);
  return element("div", {{"class", "days"}}, out);
}

Html heat_scale() {
  std::string cells;
  for (int level = 0; level <= 10; ++level)
    cells +=
        fmt::format("<rect x=\"{}\" width=\"1\" height=\"1\" class=\"heat\" fill-opacity=\"{:.2f}\"/>", level, opacity_of(level));
  const Html ramp =
      Html::markup("<svg viewBox=\"0 0 11 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">" + cells + "</svg>");
  const Html missing = Html::markup(
      "<svg viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"1\" height=\"1\" "
      "class=\"none\"/></svg>");
  return element("div", {{"class", "ramp"}},
                 element("span", "0 %") + ramp + element("span", "100 %") + missing + element("span", "no telemetry"));
}

}  // namespace

namespace {

BarFill fill_of(const Finding& f) {
  const Money SavingBasis::* part = part_of_saving(f);
  if (part == &SavingBasis::replayed) return BarFill::kSolid;
  return part == &SavingBasis::arithmetic ? BarFill::kNarrowStripes : BarFill::kWideStripes;
}

/// Of findings that share a bar: the least sure.
BarFill fill_of_rest(const AuditReport& report, size_t first) {
  BarFill fill = BarFill::kSolid;
  for (size_t i = first; i < report.findings.size(); ++i)
    fill = std::max(fill, fill_of(report.findings[i]));
  return fill;
}

}  // namespace

Html plan_waterfall(const AuditReport& report) {
  const AuditTotals& totals = report.totals;
  const AmountText amount(report);
  const double whole = std::max(totals.bill_per_month.to_double(), 1e-9);
  std::vector<BarRow> rows = {{"Bill now", {{0, 1, "whole", totals.bill_per_month.to_text()}}, amount(totals.bill_per_month)}};
  Money left = totals.bill_per_month;
  const auto take_off = [&](std::string label, Money saving, std::string link, BarFill fill) {
    const Money before = left;
    left -= saving;
    rows.push_back({std::move(label),
                    {{left.to_double() / whole, before.to_double() / whole, "saving", saving.to_text(), 1, fill}},
                    amount.minus(saving),
                    std::move(link)});
  };
  const size_t shown = report.findings.size() <= kMostBars + 1 ? report.findings.size() : kMostBars;
  for (size_t i = 0; i < shown; ++i)
    take_off(report.findings[i].title, report.findings[i].saving_per_month, "#" + report.findings[i].id,
             fill_of(report.findings[i]));
  if (shown < report.findings.size())
    take_off(fmt::format("{} smaller findings", report.findings.size() - shown), left - totals.plan_per_month, "#findings",
             fill_of_rest(report, shown));
  rows.push_back({"Plan",
                  {{0, totals.plan_per_month.to_double() / whole, "after", totals.plan_per_month.to_text()}},
                  amount(totals.plan_per_month)});
  return bar_rows(rows, "From the bill to the plan, finding by finding");
}

Html gap_waterfall(const AuditReport& report, const GoalVerdict& verdict) {
  if (verdict.gap.empty()) return {};
  const AmountText amount(report);
  const Money plan = report.totals.plan_per_month;
  const double whole = std::max(plan.to_double(), 1e-9);
  std::vector<BarRow> rows = {{"Plan", {{0, 1, "after", plan.to_text()}}, amount(plan)}};
  Money left = plan;
  for (const Obstacle& o : verdict.gap) {
    const Money before = left;
    left -= o.amount;
    rows.push_back(
        {o.what,
         {{left.to_double() / whole, before.to_double() / whole, "gap", o.amount.to_text(), 1, BarFill::kNarrowStripes}},
         amount.minus(o.amount)});
  }
  rows.push_back({"Goal", {{0, left.to_double() / whole, "whole", left.to_text()}}, amount(left)});
  std::vector<std::string> remedies;
  if (report.bound && report.bound->holds) {
    const Money least = report.bound->per_month;
    const double end = std::max(0.0, least.to_double() / whole);
    if (least < left)
      rows.push_back({"Between the goal and the least that is possible",
                      {{end, left.to_double() / whole, "gap", (left - least).to_text(), 1, BarFill::kNarrowStripes}},
                      amount.minus(left - least)});
    if (left < least)
      remedies.push_back(fmt::format("No plan with these levers and prices reaches {}: the least that is possible is {} a month",
                                     verdict.goal.text, least.to_text()));
    rows.push_back({"No plan costs less", {{0, end, "whole", least.to_text()}}, amount(least)});
  }
  for (const Obstacle& o : verdict.gap)
    remedies.push_back(fmt::format("{}. Removed by: {}", o.what, o.remedy));
  return element("h3", "From the plan to " + verdict.goal.text) +
         bar_rows(rows, "From the plan to the goal " + verdict.goal.text + ", obstacle by obstacle") + bullet_list(remedies);
}

Html client_bars(const AuditReport& report) {
  const AmountText amount(report);
  const std::vector<SpendPart> parts = spend_parts(report);
  const std::vector<ClientSpend> clients = with_the_rest_summed(report.clients, parts);
  double most = 1e-9;
  for (const ClientSpend& c : clients)
    most = std::max(most, c.total.to_double());
  std::vector<BarRow> rows;
  for (const ClientSpend& c : clients) {
    BarRow row{shown_client(c.client), {}, amount(c.total)};
    double at = 0;
    for (const SpendPart& part : parts) {
      const Money spent = c.*part.amount;
      if (spent.count_nanos() <= 0) continue;
      row.parts.push_back({at, at + spent.to_double() / most, part.css_class, fmt::format("{}: {}", part.name, spent.to_text())});
      at = row.parts.back().end;
    }
    rows.push_back(std::move(row));
  }
  std::vector<LegendEntry> entries;
  for (const SpendPart& part : parts)
    entries.emplace_back(part.name, part.colour);
  return bar_rows(rows, "Bill by client and what it was for") + legend(entries);
}

Html amount_bars(const AuditReport& report, const std::vector<NamedAmount>& amounts, std::string_view title) {
  const AmountText amount(report);
  double most = 1e-9;
  for (const NamedAmount& a : amounts)
    most = std::max(most, a.amount.to_double());
  std::vector<BarRow> rows;
  for (const NamedAmount& a : amounts) {
    const double share = share_pct(a.amount, report.totals.bill_per_month);
    const std::string_view pad = share < 9.95 ? "\u2007" : "";  // a blank as wide as a digit keeps the points in line
    rows.push_back({shown_cause(a.name),
                    {{0, a.amount.to_double() / most, "s2", a.amount.to_text()}},
                    fmt::format("{}   {}{}", amount(a.amount), pad, shown_percent(share, 1))});
  }
  return bar_rows(rows, title);
}

Html heat_map(const AuditReport& report) {
  const std::vector<HeatRow> rows = report.heat.size() <= kMostHeatRows ? report.heat : heat_by_group(report);
  std::vector<BarRow> bars;
  for (const HeatRow& row : rows)
    bars.push_back(heat_bar(row));
  return bar_rows(bars, "Mean utilisation by hour of the week", BarHeight::kStrip, days_of_week()) + heat_scale();
}

}  // namespace stint
