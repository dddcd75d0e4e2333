#include "report/plan_front.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/figures.h"
#include "report/replay_figures.h"
#include "report/svg.h"

namespace stint {
namespace {

constexpr double kFrontWidth = 860, kFrontHeight = 380;
constexpr double kFrontLeft = 76, kFrontRight = 24, kFrontTop = 34, kFrontBottom = 52;
constexpr int kTicks = 5;

/// A linear axis with round ticks around all values.
struct Axis {
  double low = 0;
  double step = 1;
  int ticks = kTicks;

  /// @param values  not empty.
  explicit Axis(std::vector<double> values) {
    const auto [least, most] = std::ranges::minmax(values);
    const double rough = std::max((most - least) / kTicks, std::max(std::abs(most), 1.0) * 1e-3);
    const double decade = std::pow(10, std::floor(std::log10(rough)));
    for (const double lead : {1.0, 2.0, 2.5, 5.0, 10.0})
      if (step = lead * decade; step >= rough) break;
    low = std::floor(least / step) * step;
    ticks = std::max(static_cast<int>(std::ceil((most - low) / step)), 1);
  }
  [[nodiscard]] double at(int tick) const { return low + step * tick; }
  [[nodiscard]] double share(double value) const { return (value - low) / (step * ticks); }
};

struct FrontPlane {
  Axis time, cost;
  [[nodiscard]] double x(double hours) const { return kFrontLeft + (kFrontWidth - kFrontLeft - kFrontRight) * time.share(hours); }
  [[nodiscard]] double y(double money) const {
    return kFrontHeight - kFrontBottom - (kFrontHeight - kFrontTop - kFrontBottom) * cost.share(money);
  }
};

void draw_axes(Svg& svg, const FrontPlane& plane, std::string_view currency) {
  const double bottom = kFrontHeight - kFrontBottom;
  for (int i = 0; i <= plane.cost.ticks; ++i) {
    const double y = plane.y(plane.cost.at(i));
    svg.line(kFrontLeft, y, kFrontWidth - kFrontRight, y, i == 0 ? "frame" : "axis");
    svg.text(kFrontLeft - 8, y + 4, grouped(plane.cost.at(i)), Anchor::kEnd, "soft");
  }
  for (int i = 0; i <= plane.time.ticks; ++i)
    svg.text(plane.x(plane.time.at(i)), bottom + 18, fmt::format("{:.3g}", plane.time.at(i)), Anchor::kMiddle, "soft");
  svg.text(0, 14, fmt::format("{} a month", currency), Anchor::kStart, "soft");
  svg.text(kFrontWidth - kFrontRight, kFrontHeight - 8, "mean hours from submission to end", Anchor::kEnd, "soft");
}

std::string tip_of(const JointPlan& plan, const FrontPoint& p) {
  const AmountText amount(plan.report);
  return fmt::format("{} a month, {} from submission to end, waiting {}: {}{}", amount(p.plan_per_month),
                     shown_seconds(p.completion_mean_s), shown_seconds(p.waiting_mean_s),
                     p.without.empty() ? "leaves nothing out" : fmt::format("without {}", fmt::join(p.without, ", ")),
                     p.chosen ? " (chosen)" : "");
}

}  // namespace

Html plan_front_chart(const JointPlan& plan) {
  if (plan.front.empty()) return {};
  const double as_is_cost = plan.report.totals.bill_per_month.to_double();
  const double as_is_h = plan.as_is_completion_s / 3600;
  std::vector<double> hours = {as_is_h};
  std::vector<double> money = {as_is_cost};
  std::vector<SvgPoint> line;
  for (const FrontPoint& p : plan.front) {
    hours.push_back(p.completion_mean_s / 3600);
    money.push_back(p.plan_per_month.to_double());
  }
  const FrontPlane plane{Axis(hours), Axis(money)};
  Svg svg(kFrontWidth, kFrontHeight, "What a month costs against how long jobs take, plan by plan");
  draw_axes(svg, plane, plan.report.totals.bill_per_month.currency().code());
  for (const FrontPoint& p : plan.front)
    line.push_back({plane.x(p.completion_mean_s / 3600), plane.y(p.plan_per_month.to_double())});
  if (line.size() > 1) svg.polyline(line, "curve");
  svg.circle(plane.x(as_is_h), plane.y(as_is_cost), 6, "whole",
             fmt::format("as it is: {}", AmountText(plan.report)(plan.report.totals.bill_per_month)));
  const bool at_the_right = plane.time.share(as_is_h) > 0.8;
  svg.text(plane.x(as_is_h) + (at_the_right ? -11 : 11), plane.y(as_is_cost) + 4, "as it is",
           at_the_right ? Anchor::kEnd : Anchor::kStart);
  for (const FrontPoint& p : plan.front)
    svg.circle(plane.x(p.completion_mean_s / 3600), plane.y(p.plan_per_month.to_double()), p.chosen ? 8 : 5,
               p.chosen ? "saving" : "point", tip_of(plan, p));
  for (const FrontPoint& p : plan.front) {
    if (!p.chosen) continue;
    const double share = plane.time.share(p.completion_mean_s / 3600);
    svg.text(plane.x(p.completion_mean_s / 3600) + (share > 0.8 ? -13 : 13), plane.y(p.plan_per_month.to_double()) - 8, "chosen",
             share > 0.8 ? Anchor::kEnd : Anchor::kStart);
  }
  return svg.render();
}

}  // namespace stint
