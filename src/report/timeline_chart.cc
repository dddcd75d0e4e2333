#include "report/timeline_chart.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/svg.h"

namespace stint {
namespace {

constexpr double kTimelineWidth = 860, kTimelineHeight = 230;
constexpr double kTimelineLeft = 56, kTimelineRight = 16, kNames = 190, kTimelineTop = 28, kTimelineBottom = 26;

/// 1, 2 or 5 × 10ⁿ so that about four fit below `top`.
double tick_step(double top) {
  const double raw = top / 4;
  const double decade = std::pow(10, std::floor(std::log10(raw)));
  for (const double lead : {1.0, 2.0, 5.0})
    if (lead * decade >= raw) return lead * decade;
  return 10 * decade;
}

class TimelinePlane {
 public:
  /// @param right  where the period ends, from the left edge.
  TimelinePlane(Interval period, double top, double right) : period_(period), top_(top), right_(right) {}
  [[nodiscard]] double right() const { return right_; }
  [[nodiscard]] double x(Instant t) const {
    const double part = (t - period_.begin).to_seconds() / period_.length().to_seconds();
    return kTimelineLeft + (right_ - kTimelineLeft) * std::clamp(part, 0.0, 1.0);
  }
  [[nodiscard]] double y(double value) const {
    return kTimelineHeight - kTimelineBottom - (kTimelineHeight - kTimelineTop - kTimelineBottom) * value / top_;
  }

 private:
  Interval period_;
  double top_;
  double right_;
};

void draw_value_axis(Svg& svg, const TimelinePlane& plane, double top, std::string_view unit) {
  const double step = tick_step(top);
  for (double value = 0; value <= top * 1.0001; value += step) {
    svg.line(kTimelineLeft, plane.y(value), plane.right(), plane.y(value), value == 0 ? "frame" : "axis");
    svg.text(kTimelineLeft - 8, plane.y(value) + 4, fmt::format("{:g}", value), Anchor::kEnd, "soft");
  }
  svg.text(0, 14, unit, Anchor::kStart, "soft");
}

void draw_time_axis(Svg& svg, const TimelinePlane& plane, Interval period) {
  const int ticks = plane.right() - kTimelineLeft > 700 ? 6 : 4;  // as many as leave room between their texts
  const bool days = period.length() > kHour * 72;
  for (int i = 0; i <= ticks; ++i) {
    const Instant t = period.begin + Duration::nanoseconds(period.length().count_ns() / ticks * i);
    const std::string text = format_utc(t);
    const Anchor anchor = i == 0 ? Anchor::kStart : i == ticks ? Anchor::kEnd : Anchor::kMiddle;
    svg.text(plane.x(t), kTimelineHeight - 8, days ? text.substr(5, 5) : text.substr(5, 11).replace(5, 1, " "), anchor, "soft");
  }
}

std::vector<SvgPoint> corners(const TimelinePlane& plane, Interval period, const TimelineCurve& curve, BetweenPoints between) {
  std::vector<SvgPoint> points;
  double before = 0;
  for (const TimelineCurve::Point& p : curve.points) {
    if (between == BetweenPoints::kHolds) points.push_back({plane.x(p.at), plane.y(before)});
    points.push_back({plane.x(p.at), plane.y(p.value)});
    before = p.value;
  }
  // What has grown is drawn to where it stopped: its name stands there.
  if (between == BetweenPoints::kHolds) points.push_back({plane.x(period.end), plane.y(before)});
  return points;
}

double value_at(const TimelineCurve& curve, Instant t, BetweenPoints between) {
  const auto after = std::ranges::upper_bound(curve.points, t, {}, &TimelineCurve::Point::at);
  if (after == curve.points.begin()) return 0;
  const TimelineCurve::Point& before = *(after - 1);
  if (between == BetweenPoints::kHolds || after == curve.points.end()) return before.value;
  return before.value + (after->value - before.value) * (t - before.at).to_seconds() / (after->at - before.at).to_seconds();
}

/// The same line, wherever its points were taken.
bool same(const TimelineCurve& a, const TimelineCurve& b, BetweenPoints between, double top) {
  const auto meets = [&](const TimelineCurve& points, const TimelineCurve& curve) {
    return std::ranges::all_of(points.points, [&](const TimelineCurve::Point& p) {
      return std::abs(value_at(points, p.at, between) - value_at(curve, p.at, between)) <= 1e-6 * top;
    });
  };
  const bool ends_together = between == BetweenPoints::kHolds || a.points.back().at == b.points.back().at;
  return ends_together && meets(a, b) && meets(b, a);
}

/// Curves that are drawn as one line.
struct CurveLine {
  const TimelineCurve* curve;
  std::string names;
  size_t count = 1;
};

std::vector<CurveLine> lines_of(std::span<const TimelineCurve> curves, BetweenPoints between, double top) {
  std::vector<CurveLine> lines;
  for (const TimelineCurve& curve : curves) {
    if (curve.points.empty()) continue;
    const auto equal = std::ranges::find_if(lines, [&](const CurveLine& line) { return same(*line.curve, curve, between, top); });
    if (equal == lines.end()) {
      lines.push_back({&curve, curve.name});
    } else {
      equal->names += " = " + curve.name;
      ++equal->count;
    }
  }
  return lines;
}

/// The lowest line widest, so that those above leave an edge of it.
std::string width_class(size_t lines_above) { return fmt::format("w{}", std::min<size_t>(lines_above, 4)); }

void draw_names(Svg& svg, const TimelinePlane& plane, const std::vector<CurveLine>& lines) {
  struct Name {
    double x, y;
    const CurveLine* line;
  };
  std::vector<Name> names;
  for (const CurveLine& line : lines)
    names.push_back({plane.x(line.curve->points.back().at), plane.y(line.curve->points.back().value) + 4, &line});
  std::ranges::stable_sort(names, {}, &Name::y);
  double lowest = 0;
  for (const Name& name : names) {
    lowest = std::max(lowest + 13, name.y);
    svg.text(name.x + 6, lowest, excerpt(name.line->names, 40), Anchor::kStart, "soft");
  }
}

std::string said_of_equals(const std::vector<CurveLine>& lines) {
  std::string said;
  for (const CurveLine& line : lines)
    if (line.count > 1) said += (said.empty() ? "one line: " : "; ") + line.names;
  return said;
}

}  // namespace

Html timeline_chart(std::string_view title, std::string_view unit, Interval period, std::span<const TimelineCurve> curves,
                    BetweenPoints between, double top) {
  for (const TimelineCurve& curve : curves)
    for (const TimelineCurve::Point& p : curve.points)
      top = std::max(top, p.value);
  if (top <= 0 || period.empty()) return {};
  const bool named = between == BetweenPoints::kGrows;
  const TimelinePlane plane(period, top, kTimelineWidth - (named ? kNames : kTimelineRight));
  Svg svg(kTimelineWidth, kTimelineHeight, title);
  draw_value_axis(svg, plane, top, unit);
  draw_time_axis(svg, plane, period);
  const std::vector<CurveLine> lines = lines_of(curves, between, top);
  for (size_t i = 0; i < lines.size(); ++i)
    svg.polyline(corners(plane, period, *lines[i].curve, between),
                 fmt::format("{} {}", lines[i].curve->css_class, width_class(lines.size() - 1 - i)));
  const std::string equals = said_of_equals(lines);
  if (named)
    draw_names(svg, plane, lines);
  else if (!equals.empty())
    svg.text(kTimelineWidth - kTimelineRight, 14, equals, Anchor::kEnd, "soft");
  return svg.render();
}

}  // namespace stint
