// The curve of mission row B6: idle hours make the useful ones dearer.
#include <algorithm>
#include <cmath>
#include <map>

#include "report/audit_charts.h"
#include "report/figures.h"
#include "report/svg.h"

namespace stint {
namespace {

constexpr double kCurveWidth = 860, kCurveHeight = 400;
constexpr double kCurveLeft = 56, kCurveRight = 16, kCurveTop = 34, kCurveBottom = 52;
constexpr double kGoalPct = 70;

/// Percent and money to pixels. Cost per useful hour is price / utilisation, so it spans decades: its axis is logarithmic.
class CurvePlane {
 public:
  CurvePlane(double lowest, double highest) : low_(std::log10(lowest)), high_(std::log10(highest)) {}
  [[nodiscard]] static double x(double pct) {
    return kCurveLeft + (kCurveWidth - kCurveLeft - kCurveRight) * std::clamp(pct, 0.0, 100.0) / 100;
  }
  [[nodiscard]] double y(double cost) const {
    return kCurveHeight - kCurveBottom - (kCurveHeight - kCurveTop - kCurveBottom) * (std::log10(cost) - low_) / (high_ - low_);
  }

 private:
  double low_, high_;
};

/// 1, 2, 5 × 10ⁿ from the last one at or below `lowest` to the first at or above `highest`: at least two.
std::vector<double> logarithmic_ticks(double lowest, double highest) {
  std::vector<double> ticks;
  for (double decade = std::floor(std::log10(lowest)); ticks.empty() || ticks.back() < highest; ++decade)
    for (const double lead : {1.0, 2.0, 5.0}) {
      if (!ticks.empty() && ticks.back() >= highest) break;
      ticks.push_back(lead * std::pow(10, decade));
      while (ticks.size() > 1 && ticks[1] <= lowest)
        ticks.erase(ticks.begin());
    }
  if (ticks.size() == 1) ticks.push_back(ticks[0] * 2);
  return ticks;
}

void draw_axes(Svg& svg, const CurvePlane& plane, const std::vector<double>& ticks, std::string_view currency) {
  const double bottom = kCurveHeight - kCurveBottom;
  for (const double cost : ticks) {
    svg.line(kCurveLeft, plane.y(cost), kCurveWidth - kCurveRight, plane.y(cost), "axis");
    svg.text(kCurveLeft - 8, plane.y(cost) + 4, fmt::format("{:g}", cost), Anchor::kEnd, "soft");
  }
  for (int pct = 0; pct <= 100; pct += 10)
    svg.text(CurvePlane::x(pct), bottom + 18, fmt::format("{}", pct), Anchor::kMiddle, "soft");
  svg.line(kCurveLeft, bottom, kCurveWidth - kCurveRight, bottom, "frame");
  svg.line(CurvePlane::x(kGoalPct), kCurveTop, CurvePlane::x(kGoalPct), bottom, "goal");
  svg.text(CurvePlane::x(kGoalPct) + 6, kCurveTop + 12, "goal: 70 %", Anchor::kStart, "goal-text");
  svg.text(0, 14, fmt::format("{} per useful GPU-hour, logarithmic", currency), Anchor::kStart, "soft");
  svg.text(kCurveWidth - kCurveRight, kCurveHeight - 8, "mean utilisation, %", Anchor::kEnd, "soft");
}

/// What a useful hour costs at every utilisation, at the fleet's mean price of a GPU-hour.
void draw_fleet_price(Svg& svg, const CurvePlane& plane, double price, double lowest, double highest) {
  std::vector<SvgPoint> points;
  for (int pct = 1; pct <= 100; ++pct) {
    const double cost = price / pct * 100;
    if (cost >= lowest && cost <= highest) points.push_back({CurvePlane::x(pct), plane.y(cost)});
  }
  if (points.size() < 2) return;
  svg.polyline(points, "curve");
}

}  // namespace

Html utilization_curve(const AuditReport& report) {
  std::vector<CurvePoint> points;
  for (const CurvePoint& p : report.curve)
    if (p.per_useful_gpu_hour.count_nanos() > 0) points.push_back(p);
  if (points.empty()) return {};
  const auto cheaper = [](const CurvePoint& a, const CurvePoint& b) { return a.per_useful_gpu_hour < b.per_useful_gpu_hour; };
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), cheaper);
  const double fleet_price = report.totals.per_useful_gpu_hour.to_double() * report.totals.mean_utilization_pct.value_or(0) / 100;
  const double lowest =
      fleet_price > 0 ? std::min(least->per_useful_gpu_hour.to_double(), fleet_price) : least->per_useful_gpu_hour.to_double();
  const std::vector<double> ticks = logarithmic_ticks(lowest, most->per_useful_gpu_hour.to_double());
  const CurvePlane plane(ticks.front(), ticks.back());

  std::map<std::string, double> cost_of;
  double dearest = 1e-9;
  for (const NodeAudit& n : report.nodes)
    dearest = std::max(dearest, cost_of[n.name] = std::max(n.cost_per_month.to_double(), 0.0));
  Svg svg(kCurveWidth, kCurveHeight, "Utilisation against the price of a useful GPU-hour");
  draw_axes(svg, plane, ticks, report.totals.bill_per_month.currency().code());
  if (fleet_price > 0) draw_fleet_price(svg, plane, fleet_price, ticks.front(), ticks.back());
  for (const CurvePoint& p : points) {
    const double radius = 3 + 5 * std::sqrt(cost_of[p.node] / dearest);  // the area beyond the smallest grows with the cost
    svg.circle(CurvePlane::x(p.utilization_pct), plane.y(p.per_useful_gpu_hour.to_double()), radius, "point",
               fmt::format("{}: {} used, {} per useful GPU-hour", p.node, shown_percent(p.utilization_pct, 1),
                           p.per_useful_gpu_hour.to_text()));
  }
  return svg.render();
}

}  // namespace stint
