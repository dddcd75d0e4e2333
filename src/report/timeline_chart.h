// Curves over time, several on one scale: stepped lines for figures that hold until they change, straight ones for those that grow.
//
// No curve hides another: equal ones are drawn once and named together; where two run together for a while the lower one is
// wider. What grows has its name at its end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "report/html.h"

namespace stint {

enum class BetweenPoints : uint8_t {
  kHolds,  ///< a value holds until the next point
  kGrows,  ///< straight from point to point, then it holds
};

struct TimelineCurve {
  std::string name;
  std::string_view css_class;  ///< a line class of the page's style sheet
  struct Point {
    Instant at;
    double value = 0;  ///< ≥ 0
  };
  std::vector<Point> points;  ///< ascending
};

/// @param period  what the drawing spans; not empty. @param unit  of the values, said above the axis.
/// @param between  of all curves. @param top  of the scale, say the capacity; 0 = the largest value.
Html timeline_chart(std::string_view title, std::string_view unit, Interval period, std::span<const TimelineCurve> curves,
                    BetweenPoints between = BetweenPoints::kHolds, double top = 0);

}  // namespace stint
