#include "report/timeline_chart.h"

#include <algorithm>
#include <cmath>

#include "report/svg.h"

namespace stint {
namespace {

constexpr double kWidth = 860, kHeight = 230;
constexpr double kLeft = 56, kRight = 16, kTop = 28, kBottom = 26;

/// 1, 2 or 5 × 10ⁿ so that about four fit below `top`.
double tick_step(double top) {
  const double raw = top / 4;
  const double decade = std::pow(10, std::floor(std::log10(raw)));
  for (const double lead : {1.0, 2.0, 5.0})
    if (lead * decade >= raw) return lead * decade;
  return 10 * decade;
}

class Plane {
 public:
  Plane(Interval period, double top) : period_(period), top_(top) {}
  [[nodiscard]] double x(Instant t) const {
    const double part = (t - period_.begin).to_seconds() / period_.length().to_seconds();
    return kLeft + (kWidth - kLeft - kRight) * std::clamp(part, 0.0, 1.0);
  }
  [[nodiscard]] double y(double value) const { return kHeight - kBottom - (kHeight - kTop - kBottom) * value / top_; }

 private:
  Interval period_;
  double top_;
};

void draw_value_axis(Svg& svg, const Plane& plane, double top, std::string_view unit) {
  const double step = tick_step(top);
  for (double value = 0; value <= top * 1.0001; value += step) {
    svg.line(kLeft, plane.y(value), kWidth - kRight, plane.y(value), value == 0 ? "frame" : "axis");
    svg.text(kLeft - 8, plane.y(value) + 4, fmt::format("{:g}", value), Anchor::kEnd, "soft");
  }
  svg.text(0, 14, unit, Anchor::kStart, "soft");
}

void draw_time_axis(Svg& svg, const Plane& plane, Interval period) {
  constexpr int kTicks = 6;
  const bool days = period.length() > kHour * 72;
  for (int i = 0; i <= kTicks; ++i) {
    const Instant t = period.begin + Duration::nanoseconds(period.length().count_ns() / kTicks * i);
    const std::string text = format_utc(t);
    const Anchor anchor = i == 0 ? Anchor::kStart : i == kTicks ? Anchor::kEnd : Anchor::kMiddle;
    svg.text(plane.x(t), kHeight - 8, days ? text.substr(5, 5) : text.substr(5, 11).replace(5, 1, " "), anchor, "soft");
  }
}

void draw_curve(Svg& svg, const Plane& plane, Interval period, const TimelineCurve& curve) {
  std::vector<SvgPoint> points;
  double before = 0;
  for (const TimelineCurve::Point& p : curve.points) {
    points.push_back({plane.x(p.at), plane.y(before)});
    points.push_back({plane.x(p.at), plane.y(p.value)});
    before = p.value;
  }
  points.push_back({plane.x(period.end), plane.y(before)});
  svg.polyline(points, curve.css_class);
}

}  // namespace

Html timeline_chart(std::string_view title, std::string_view unit, Interval period, std::span<const TimelineCurve> curves,
                    double top) {
  for (const TimelineCurve& curve : curves)
    for (const TimelineCurve::Point& p : curve.points)
      top = std::max(top, p.value);
  if (top <= 0 || period.empty()) return {};
  const Plane plane(period, top);
  Svg svg(kWidth, kHeight, title);
  draw_value_axis(svg, plane, top, unit);
  draw_time_axis(svg, plane, period);
  for (const TimelineCurve& curve : curves)
    draw_curve(svg, plane, period, curve);
  return svg.render();
}

}  // namespace stint
