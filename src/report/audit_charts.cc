#include "report/audit_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/check.h"
#include "report/svg.h"

namespace stint {
namespace {

constexpr double kWidth = 1060;
constexpr double kRow = 26;
constexpr size_t kMostHeatRows = 60;
constexpr size_t kMostBars = 25;
constexpr size_t kHoursOfWeek = 168;

/// A horizontal scale: money to pixels.
struct Scale {
  double left = 0;
  double pixels = 0;
  double max = 1;
  [[nodiscard]] double at(double value) const { return left + pixels * value / max; }
  [[nodiscard]] double length(double value) const { return pixels * value / max; }
};

struct Part {
  std::string_view name;
  std::string_view css_class;
  Money ClientSpend::*amount;
};
constexpr std::array<Part, 7> kParts = {{
    {"training", "s1", &ClientSpend::training},
    {"inference", "s2", &ClientSpend::inference},
    {"evaluation", "s3", &ClientSpend::evaluation},
    {"other compute", "s5", &ClientSpend::other_compute},
    {"storage", "s4", &ClientSpend::storage},
    {"transfer", "s7", &ClientSpend::transfer},
    {"shared cost", "s6", &ClientSpend::shared},
}};

Html legend(std::span<const std::pair<std::string_view, std::string_view>> entries) {
  Html out;
  for (const auto& [name, swatch] : entries)
    out += element("span", {{"style", fmt::format("--swatch:var(--{})", swatch)}}, Html::text(name));
  return element("div", {{"class", "legend"}}, out);
}

/// Rows of the heat map: nodes, or means of nodes alike when there are too many.
std::vector<HeatRow> heat_rows(const AuditReport& report) {
  if (report.heat.size() <= kMostHeatRows) return report.heat;
  struct Sum {
    std::array<double, kHoursOfWeek> value{};
    std::array<int, kHoursOfWeek> seen{};
    size_t nodes = 0;
  };
  std::map<std::string, std::string> group_of;
  for (const NodeAudit& n : report.nodes) group_of[n.name] = n.category + ", " + (n.instance_type.empty() ? n.gpu_model : n.instance_type);
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
  std::vector<HeatRow> rows;
  for (const auto& [name, sum] : sums) {
    HeatRow row{fmt::format("{} ({} nodes)", name, sum.nodes), std::vector<float>(kHoursOfWeek, -1.0F)};
    for (size_t h = 0; h < kHoursOfWeek; ++h)
      if (sum.seen[h] > 0) row.hours[h] = static_cast<float>(sum.value[h] / sum.seen[h]);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Neighbouring hours of the same tenth become one cell, so that a fleet stays a small file.
void draw_heat_row(Svg& svg, const std::vector<float>& hours, double left, double y, double cell, double height) {
  const auto level_of = [&](size_t h) { return hours[h] < 0 ? -1 : static_cast<int>(std::lround(static_cast<double>(hours[h]) / 10)); };
  for (size_t h = 0; h < hours.size();) {
    size_t end = h;
    while (end < hours.size() && level_of(end) == level_of(h)) ++end;
    const double x = left + cell * static_cast<double>(h);
    const double width = cell * static_cast<double>(end - h);
    if (level_of(h) >= 0)
      svg.rect(x, y, width, height, "heat", {}, 0.05 + 0.095 * level_of(h));
    else
      svg.line(x, y + height / 2, x + width, y + height / 2, "axis");
    h = end;
  }
}

}  // namespace

std::string whole_units(Money m) {
  const std::string text = m.to_text(0);
  return text.substr(0, text.size() - 4);
}

Html plan_waterfall(const AuditReport& report) {
  const AuditTotals& totals = report.totals;
  const size_t shown = std::min(report.findings.size(), kMostBars);
  const Scale scale{390, kWidth - 390 - 90, std::max(totals.bill_per_month.to_double(), 1e-9)};
  Svg svg(kWidth, kRow * static_cast<double>(shown + 3) + 4, "From the bill to the plan, finding by finding");
  double y = 2;
  const auto row = [&](std::string_view label, double from, double length, std::string_view css_class, const std::string& value) {
    svg.text(380, y + 16, fitted(label, 372), Anchor::kEnd);
    svg.rect(scale.at(from), y + 3, std::max(scale.length(length), 1.0), kRow - 8, css_class, fmt::format("{}: {}", label, value));
    svg.text(scale.at(from + length) + 6, y + 16, value);
    y += kRow;
  };
  row("Bill now", 0, totals.bill_per_month.to_double(), "whole", whole_units(totals.bill_per_month));
  double left = totals.bill_per_month.to_double();
  Money rest = totals.saving_per_month;
  for (size_t i = 0; i < shown; ++i) {
    const Finding& f = report.findings[i];
    left -= f.saving_per_month.to_double();
    rest -= f.saving_per_month;
    row(f.title, left, f.saving_per_month.to_double(), "saving", "−" + whole_units(f.saving_per_month));
  }
  if (!rest.is_zero()) {
    left -= rest.to_double();
    row(fmt::format("{} smaller findings", report.findings.size() - shown), left, rest.to_double(), "saving", "−" + whole_units(rest));
  }
  row("Plan", 0, totals.plan_per_month.to_double(), "after", whole_units(totals.plan_per_month));
  return svg.render();
}

Html client_bars(const AuditReport& report) {
  Money most = Money::nanos(1, report.totals.bill_per_month.currency());
  for (const ClientSpend& c : report.clients) most = std::max(most, c.total);
  const size_t shown = std::min(report.clients.size(), kMostBars);
  const Scale scale{230, kWidth - 230 - 90, most.to_double()};
  Svg svg(kWidth, kRow * static_cast<double>(shown) + 4, "Bill by client and what it was for");
  double y = 2;
  for (size_t i = 0; i < shown; ++i) {
    const ClientSpend& c = report.clients[i];
    svg.text(220, y + 16, fitted(c.client.empty() ? "nobody in particular" : c.client, 212), Anchor::kEnd);
    double x = scale.left;
    for (const Part& part : kParts) {
      const Money amount = c.*part.amount;
      if (amount.count_nanos() <= 0) continue;
      svg.rect(x, y + 3, scale.length(amount.to_double()), kRow - 8, part.css_class, fmt::format("{}: {}", part.name, amount.to_text()));
      x += scale.length(amount.to_double());
    }
    svg.text(x + 6, y + 16, whole_units(c.total));
    y += kRow;
  }
  std::vector<std::pair<std::string_view, std::string_view>> entries;
  constexpr std::array<std::string_view, 7> kSwatches = {"c1", "c2", "c3", "c5", "c4", "c7", "c6"};
  for (size_t i = 0; i < kParts.size(); ++i) entries.emplace_back(kParts[i].name, kSwatches[i]);
  return svg.render() + legend(entries);
}

Html amount_bars(const std::vector<NamedAmount>& amounts, Money whole, std::string_view title) {
  Money most = Money::nanos(1, whole.currency());
  for (const NamedAmount& a : amounts) most = std::max(most, a.amount);
  const Scale scale{230, kWidth - 230 - 170, most.to_double()};
  Svg svg(kWidth, kRow * static_cast<double>(amounts.size()) + 4, title);
  double y = 2;
  for (const NamedAmount& a : amounts) {
    svg.text(220, y + 16, fitted(a.name, 212), Anchor::kEnd);
    svg.rect(scale.left, y + 3, scale.length(std::max(a.amount.to_double(), 0.0)), kRow - 8, "s2", a.amount.to_text());
    const double share = whole.is_zero() ? 0 : 100 * a.amount.to_double() / whole.to_double();
    svg.text(scale.at(std::max(a.amount.to_double(), 0.0)) + 6, y + 16, fmt::format("{}  ({:.1f} %)", whole_units(a.amount), share));
    y += kRow;
  }
  return svg.render();
}

Html heat_map(const AuditReport& report) {
  const std::vector<HeatRow> rows = heat_rows(report);
  constexpr double kLeft = 230, kTop = 18, kHeight = 13;
  constexpr double kCell = (kWidth - kLeft) / kHoursOfWeek;
  Svg svg(kWidth, kTop + kHeight * static_cast<double>(rows.size()) + 6, "Mean utilisation by hour of the week");
  constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  for (size_t d = 0; d < kDays.size(); ++d) {
    const double x = kLeft + kCell * 24 * static_cast<double>(d);
    svg.text(x + 3, 11, kDays[d], Anchor::kStart, "soft");
    svg.line(x, 0, x, kTop + kHeight * static_cast<double>(rows.size()), "axis");
  }
  double y = kTop;
  for (const HeatRow& row : rows) {
    svg.text(kLeft - 10, y + 10, fitted(row.node, kLeft - 18), Anchor::kEnd);
    draw_heat_row(svg, row.hours, kLeft, y, kCell, kHeight - 2);
    y += kHeight;
  }
  return svg.render();
}

Html utilization_curve(const AuditReport& report) {
  double highest = 0, lowest = 1e300;
  for (const CurvePoint& p : report.curve) {
    if (p.per_useful_gpu_hour.count_nanos() <= 0) continue;
    highest = std::max(highest, p.per_useful_gpu_hour.to_double());
    lowest = std::min(lowest, p.per_useful_gpu_hour.to_double());
  }
  if (highest <= 0) return {};
  constexpr double kLeft = 70, kRight = 20, kTop = 16, kBottom = 44, kHeight = 380;
  // Cost per useful hour is price / utilisation: decades apart, so the axis is logarithmic.
  const double low = std::floor(std::log10(lowest)), high = std::max(std::ceil(std::log10(highest)), low + 1);
  const auto x_of = [&](double pct) { return kLeft + (kWidth - kLeft - kRight) * std::clamp(pct, 0.0, 100.0) / 100; };
  const auto y_of = [&](double cost) { return kHeight - kBottom - (kHeight - kTop - kBottom) * (std::log10(cost) - low) / (high - low); };
  Svg svg(kWidth, kHeight, "Utilisation against the price of a useful GPU-hour");
  for (double decade = low; decade <= high; ++decade) {
    for (const double lead : {1.0, 2.0, 5.0}) {
      const double cost = lead * std::pow(10, decade);
      if (std::log10(cost) > high + 1e-9) continue;
      svg.line(kLeft, y_of(cost), kWidth - kRight, y_of(cost), "axis");
      svg.text(kLeft - 8, y_of(cost) + 4, fmt::format("{:g}", cost), Anchor::kEnd, "soft");
    }
  }
  for (int pct = 0; pct <= 100; pct += 10) svg.text(x_of(pct), kHeight - kBottom + 18, fmt::format("{} %", pct), Anchor::kMiddle, "soft");
  svg.line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "frame");
  svg.line(x_of(70), kTop, x_of(70), kHeight - kBottom, "goal");
  svg.text(x_of(70) + 6, kTop + 10, "goal: 70 %", Anchor::kStart, "goal-text");
  svg.text(kLeft, kHeight - 6, "mean utilisation of the node", Anchor::kStart, "soft");
  svg.text(kLeft + 8, kTop + 2, fmt::format("{} per useful GPU-hour", report.totals.bill_per_month.currency().code()), Anchor::kStart, "soft");
  for (const CurvePoint& p : report.curve)
    if (p.per_useful_gpu_hour.count_nanos() > 0)
      svg.circle(x_of(p.utilization_pct), y_of(p.per_useful_gpu_hour.to_double()), 5.5, "point",
                 fmt::format("{}: {:.1f} %, {} per useful GPU-hour", p.node, p.utilization_pct, p.per_useful_gpu_hour.to_text()));
  return svg.render();
}

}  // namespace stint
