// Curves over time, several on one scale: stepped lines, since the figures hold until they change.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "report/html.h"

namespace stint {

struct TimelineCurve {
  std::string name;
  std::string_view css_class;  ///< a line class of the page's style sheet
  struct Point {
    Instant at;
    double value = 0;  ///< holds until the next point; ≥ 0
  };
  std::vector<Point> points;  ///< ascending
};

/// @param period  what the drawing spans; not empty. @param unit  of the values, said above the axis.
/// @param top  of the scale, say the capacity; 0 = the largest value.
Html timeline_chart(std::string_view title, std::string_view unit, Interval period, std::span<const TimelineCurve> curves,
                    double top = 0);

}  // namespace stint
